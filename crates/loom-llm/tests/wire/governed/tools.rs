//! Tool calls on the governed path: they reach the reply byte for byte, a retry never joins two of them, text filters
//! leave them alone, and what was wanted back is sent back.

use std::sync::Arc;

use loom_effect_runtime::{
    CallError, CallInfo, DeltaForm, DeltaGuard, DeltaKind, DeltaKinds, EffectRuntime, ErrorName, Lane,
    Outlet, Step, Usage, Verdict, Violation, around, inspect,
};
use loom_llm::{
    ChatRequest, FinishReason, LlmReply, Message, ProviderError, Remedy, ToolArguments, ToolArgumentsError,
    ToolChoice, ToolSpec,
};
use serde_json::{Value, json};

use super::view::View;
use super::{ask, delta_event, ending, event, gate, handle, runtime, streamed, usage_event};
use crate::peer::{Act, Peer, reply, request, text_event, within};

fn part(index: u64, id: &str, name: &str, arguments: &str) -> Vec<u8> {
    let function = json!({"name": name, "arguments": arguments});
    delta_event(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}))
}

fn finish(reason: &str) -> Vec<u8> {
    event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string())
}

fn arguments(reply: &LlmReply) -> Vec<&str> {
    reply.tool_calls.iter().map(|call| call.arguments.expose_tainted().as_str()).collect()
}

/// The JSON body of a request as the server saw it.
fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Complaint 8, streamed tool calls never reach the agent: streamed or in one piece, all of them, in order, verbatim.
#[tokio::test]
async fn tool_calls_reach_the_reply_streamed_and_whole() {
    let streaming =
        [part(0, "a", "f", "{\"n\":"), part(1, "b", "g", "{}"), part(0, "", "", "1}"), finish("tool_calls")];
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({"content": null, "tool_calls": [call("a", "f", "{\"n\":1}"), call("b", "g", "{}")]});
    let whole = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let scripts = vec![
        streamed(vec![Act::Send(streaming.concat())]),
        vec![reply("200 OK", "content-type: application/json\r\n", &whole.to_string())],
    ];
    let peer = Peer::start(scripts).await;
    for stream in [true, false] {
        let (runtime, tool) = runtime(ask(peer.provider()).stream(stream));
        let reply = within(async { runtime.invoke_transient(tool, request()).await }).await.unwrap();
        let name = |call: &loom_llm::LlmToolCall| call.name.clone().unwrap().unwrap_tainted();
        let names: Vec<_> = reply.tool_calls.iter().map(name).collect();
        assert_eq!(names, ["f", "g"]);
        assert_eq!(arguments(&reply), ["{\"n\":1}", "{}"]);
        assert_eq!(reply.finish_reason, Some(FinishReason::ToolCalls));
        assert!(reply.content.expose_tainted().is_empty());
    }
}

/// Complaint 9, the results of tools are refused for want of the reasoning before them: the next request holds it in the
/// fields it came in, with the calls, their ids and their results.
#[tokio::test]
async fn reasoning_goes_back_with_the_results_of_tools() {
    let asks = [
        delta_event(json!({"reasoning_content": "Let me "})),
        delta_event(json!({"reasoning_content": "look."})),
        part(0, "call_1", "look_up", ""),
        finish("tool_calls"),
    ];
    let scripts = vec![streamed(vec![Act::Send(asks.concat())]), streamed(vec![Act::Send(ending())])];
    let mut peer = Peer::start(scripts).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let spec = ToolSpec::new("look_up", "", json!({"type": "object"}));
    let mut request = ChatRequest::new("m", vec![Message::user("hi")]);
    request.tools = vec![spec];
    request.tool_choice = Some(ToolChoice::Auto);
    let reply = within(async { runtime.invoke_transient(tool, request.clone()).await }).await.unwrap();
    peer.request().await;
    assert_eq!(reply.reasoning.as_ref().unwrap().expose_tainted(), "Let me look.");
    let id = reply.tool_calls[0].id.clone().unwrap();
    // As a journal keeps it, and gives it back.
    let kept: LlmReply = serde_json::from_value(serde_json::to_value(&reply).unwrap()).unwrap();
    request
        .messages
        .extend([kept.to_message(), Message::tool(id.into(), loom_classify::Fenced::trusted("42".into()))]);
    within(async { runtime.invoke_transient(tool, request).await }).await.unwrap();
    let sent = body(&peer.request().await);
    let call =
        json!({"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}});
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [call], "reasoning_content": "Let me look."},
            {"role": "tool", "content": "42", "tool_call_id": "call_1"},
        ])
    );
}

/// Complaint 10, usage and progress are lost when a reply fails: the error has both, and so has the report.
#[tokio::test]
async fn a_failure_keeps_what_was_spent_and_what_was_shown() {
    let broken = event(
        &json!({"error": {"code": 503}, "usage": {"prompt_tokens": 9, "completion_tokens": 5}}).to_string(),
    );
    let script = [text_event("héllo"), part(0, "a", "f", "{\"x\""), usage_event(9, 1), broken];
    let peer = Peer::streaming(vec![Act::Send(script.concat())]).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let (failed, report) = within(runtime.invoke_transient(tool, request()).reported()).await;
    let error = failed.unwrap_err();
    let behind = ProviderError::behind(&error).unwrap();
    assert_eq!((behind.usage(), behind.delivered_bytes()), (Some(Usage::new(9, 5)), 6 + 4));
    assert_eq!((behind.remedy(), report.usage), (Remedy::Retry, Some(Usage::new(9, 5))));
}

/// Complaint 11, a retry in mid-stream doubles the text and joins the arguments of two attempts into another valid
/// command: the second attempt begins anew, in the view and in the reply.
#[tokio::test]
async fn a_retry_never_joins_the_text_or_the_arguments_of_two_attempts() {
    let shown = gate();
    let first = [text_event("Deleting "), part(0, "a", "rm", "{\"path\":\"/tmp/a"), text_event("it")];
    let second =
        [text_event("Deleting b"), part(0, "b", "rm", "{\"path\":\"/tmp/b\"}"), finish("tool_calls")];
    let cut = vec![Act::Send(first.concat()), Act::Gate(Arc::clone(&shown)), Act::Cut];
    let peer = Peer::start(vec![streamed(cut), streamed(vec![Act::Send(second.concat())])]).await;
    let again = around("again", |_call, mut next| {
        Box::pin(async move {
            match next.run().await {
                Err(error) if !error.is_refusal() => next.run().await,
                done => done,
            }
        })
    });
    let builder =
        EffectRuntime::builder().allow_all_calls().around(again).effect(ask(peer.provider()).build());
    let (runtime, tool) = handle(builder.build().unwrap());
    let view = View::new().wanting(DeltaKinds::ALL);
    let sink = view.clone().opening("it", &shown);
    let (reply, report) =
        within(runtime.invoke_transient(tool, request()).on_delta_sink(sink).reported()).await;
    let reply = reply.unwrap();
    assert_eq!(arguments(&reply), ["{\"path\":\"/tmp/b\"}"]);
    assert_eq!((reply.content.expose_tainted().as_str(), report.attempts), ("Deleting b", 2));
    assert_eq!(reply.tool_calls[0].id.as_ref().unwrap().expose_tainted(), "b");
    let after: Vec<_> = view.lines().into_iter().skip_while(|line| line != "<reset 2>").collect();
    assert_eq!(after, ["<reset 2>", "Deleting b", "tool0:{\"path\":\"/tmp/b\"}", "<done>"]);
}

/// Replaces digits in text and lets everything else pass.
struct Masked;

impl DeltaForm for Masked {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Mask(lane.kind() == DeltaKind::Text))
    }
}

struct Mask(bool);

fn masked(text: &str) -> String {
    text.replace(|letter: char| letter.is_ascii_digit(), "#")
}

impl DeltaGuard for Mask {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        if !self.0 {
            return Verdict::Pass;
        }
        out.pass(&masked(text));
        Verdict::Done
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// Complaint 12, filters of text corrupt the JSON of tool calls: a filter that rewrites the answer has no hand on the
/// arguments, in the view and in the reply.
#[tokio::test]
async fn a_filter_of_text_leaves_tool_arguments_alone() {
    let script = [
        text_event("call 555"),
        part(0, "a", "dial", "{\"n\":"),
        part(0, "", "", " 555}"),
        finish("tool_calls"),
    ];
    let peer = Peer::streaming(vec![Act::Send(script.concat())]).await;
    let filter = inspect("mask", Some(Arc::new(Masked)), |_, output| {
        if let Some(reply) = output.get_mut::<LlmReply>() {
            reply.content = reply.content.clone().map(|text| masked(&text));
        }
        Step::Go
    });
    let builder = EffectRuntime::builder().allow_all_calls().output_middleware(filter);
    let (runtime, tool) = handle(builder.effect(ask(peer.provider()).build()).build().unwrap());
    let view = View::new().wanting(DeltaKinds::ALL);
    let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone());
    let reply = within(async { call.await }).await.unwrap();
    assert_eq!(view.lines(), ["call ###", "tool0:{\"n\":", "tool0: 555}", "<done>"]);
    assert_eq!(
        (reply.content.expose_tainted().as_str(), arguments(&reply)),
        ("call ###", vec!["{\"n\": 555}"])
    );
}

/// Complaint 13, arguments that cannot be read become `{}`: they are a typed failure, and no arguments are none.
#[tokio::test]
async fn unreadable_arguments_are_a_typed_failure_and_never_an_empty_object() {
    for (sent, reason, expected) in [
        ("{\"path\":\"/tmp", "length", Err(ToolArgumentsError::CutOff)),
        ("", "length", Err(ToolArgumentsError::CutOff)),
        ("{path: 1}", "tool_calls", Err(ToolArgumentsError::NotJson { line: 1, column: 2 })),
        ("\"{}\"", "tool_calls", Err(ToolArgumentsError::NotAnObject)),
        ("", "tool_calls", Ok(None)),
        ("{}", "length", Ok(Some(json!({})))),
    ] {
        let peer =
            Peer::streaming(vec![Act::Send([part(0, "a", "rm", sent), finish(reason)].concat())]).await;
        let (runtime, tool) = runtime(ask(peer.provider()));
        let reply = within(async { runtime.invoke_transient(tool, request()).await }).await.unwrap();
        let read = reply.read_arguments().next().unwrap().map(|read| match read {
            ToolArguments::Object(object) => {
                assert_eq!(object.origins(), reply.tool_calls[0].arguments.origins());
                Some(object.unwrap_tainted())
            }
            _ => None,
        });
        assert_eq!(read, expected, "{sent} {reason}");
        if let Err(error) = read {
            assert_eq!(CallError::from(error).name(), ErrorName::OutputInvalid);
        }
    }
}
