//! `loom ask`: one governed call, streamed, and nothing recorded.

use std::sync::Arc;

use loom_effect_runtime::{ErrorName, Identity, Signal};
use loom_llm::effect::{FinishReason, LlmReply, LlmToolCall};
use loom_llm::{ChatRequest, Message};

use super::stopped;
use crate::args::AskArgs;
use crate::exit::Failure;
use crate::live::Live;
use crate::model::{Grant, Setting, principal};
use crate::render::{Asked, Done, Screen, neutral};

const GRANT: Grant = Grant { tool: "llm.ask", flow: None };

pub(crate) async fn run(args: AskArgs, screen: &Arc<Screen>, stop: &Signal) -> Result<(), Failure> {
    let AskArgs { prompt, max_tokens, model: args } = args;
    let model = Setting::read(&args)?.open(GRANT, max_tokens, screen).await?;
    let request = ChatRequest::new(args.model, vec![Message::user(prompt)]).with_max_tokens(max_tokens);
    let live = Live::new(screen);
    let caller = model.runtime.caller(Identity::new(principal()));
    let call = caller.invoke_transient(model.tool, request).signal(stop.clone()).on_delta_sink(live.sink());
    let (reply, report) = call.reported().await;
    let reply = match reply {
        Err(error) if error.name() == ErrorName::Abort => return Err(stopped(stop)),
        reply => reply?,
    };
    if !report.streamed {
        show_whole(&reply, screen);
    }
    for call in &reply.tool_calls {
        show_tool_call(call, screen);
    }
    let done = Done {
        usage: live.done().unwrap_or(report.usage),
        finish_reason: reply.finish_reason,
        refused: reply.refused,
        explanation: reply.explanation.as_ref().map(|why| why.expose_tainted().as_str()),
    };
    screen.show(|view| view.done(&done));
    if done.refused {
        let why = done.explanation.map(|why| format!(": {}", neutral(why).replace('\n', " ")));
        screen.note(&format!("the model declined to answer{}", why.unwrap_or_default()));
    }
    if reply.finish_reason == Some(FinishReason::Length) {
        screen.note(&format!(
            "the answer was cut at --max-tokens {max_tokens}; a larger bound gives more of it"
        ));
    }
    Ok(())
}

/// Shows a reply that nothing was shown of: its provider does not stream, or a guard cannot judge live text. The guards
/// judged it whole.
fn show_whole(reply: &LlmReply, screen: &Screen) {
    if let Some(reasoning) = &reply.reasoning {
        screen.show(|view| view.reasoning(reasoning.expose_tainted()));
    }
    if !reply.content.as_tainted_str().is_empty() {
        screen.show(|view| view.text(reply.content.expose_tainted()));
    }
}

fn show_tool_call(call: &LlmToolCall, screen: &Screen) {
    let id = call.id.as_ref().map(|id| id.expose_tainted().as_str());
    let name = call.name.as_ref().map(|name| name.expose_tainted().as_str());
    let asked = Asked { id, name, arguments: call.arguments.expose_tainted() };
    screen.show(|view| view.tool_call(&asked));
}
