//! `loom ask`: one governed call, streamed, and nothing recorded.

use std::sync::Arc;

use loom_effect_runtime::{ErrorName, Identity, Signal};
use loom_llm::effect::FinishReason;
use loom_llm::{ChatRequest, Message};

use super::stopped;
use crate::args::AskArgs;
use crate::exit::Failure;
use crate::live::Live;
use crate::model::{Grant, Setting, principal};
use crate::render::Screen;

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
    if !report.streamed && !reply.content.as_tainted_str().is_empty() {
        // A provider that does not stream, or a guard that cannot judge live text: the reply passed the guards whole.
        screen.show(|view| view.text(reply.content.expose_tainted()));
    }
    screen.show(|view| view.done(live.done().unwrap_or(report.usage)));
    if reply.finish_reason == Some(FinishReason::Length) {
        screen.note(&format!(
            "the answer was cut at --max-tokens {max_tokens}; a larger bound gives more of it"
        ));
    }
    Ok(())
}
