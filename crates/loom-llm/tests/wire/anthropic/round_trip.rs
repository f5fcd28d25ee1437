//! A reply of the provider goes back to it as it came.

use loom_effect_runtime::EffectRuntime;
use loom_llm::{ChatRequest, LlmEffect, LlmReply, Message, Provider};
use serde_json::{Value, json};

use super::requests::fenced;
use super::said::recordings;
use super::{
    arguments, close, decode, delta, end, fold, open, provider, start, stop, stream, text, thinking, tool,
};
use crate::peer::{Act, Peer, STREAM_HEAD, within};

fn events() -> Vec<Value> {
    vec![
        start("m"),
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        thinking(0, "hm"),
        delta(0, json!({"type": "signature_delta", "signature": "sig+/=="})),
        close(0),
        open(1, json!({"type": "redacted_thinking", "data": "secret"})),
        close(1),
        open(2, json!({"type": "text", "text": ""})),
        text(2, "let me "),
        text(2, "see"),
        close(2),
        tool(3, "t", json!({})),
        arguments(3, "{\"b\": 1.50,"),
        arguments(3, " \"a\": 1}"),
        close(3),
        tool(4, "u", json!({})),
        close(4),
        open(5, json!({"type": "text", "text": "\n"})),
        close(5),
        end("tool_use"),
        stop(),
    ]
}

/// D9: through the effect, whose reply is tainted: the message it makes passes the guard behind its fence.
#[tokio::test]
async fn thinking_and_calls_go_back_verbatim_and_in_order() {
    let script = |events: &[Value]| vec![Act::Send([STREAM_HEAD.as_bytes(), &stream(events)].concat())];
    let mut peer =
        Peer::start(vec![script(&events()), script(&[text(0, "done"), end("end_turn"), stop()])]).await;
    let effect = LlmEffect::builder("ask", provider(&peer)).model("claude").build();
    let runtime = EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap();
    let ask = runtime.tool::<ChatRequest, LlmReply>("ask").unwrap();
    let mut messages = vec![Message::user("hi")];
    let first = runtime.invoke_transient(ask, ChatRequest::of(messages.clone())).await.unwrap();
    messages.push(first.to_message());
    for call in &first.tool_calls {
        let id = call.id.clone().unwrap();
        messages.push(Message::tool(id.into(), fenced("ok".to_owned())));
    }
    let second = runtime.invoke_transient(ask, ChatRequest::of(messages)).await.unwrap();
    assert_eq!(second.content.expose_tainted(), "done");
    peer.request().await;
    let sent = peer.request().await;
    let body: Value = serde_json::from_str(sent.split_once("\r\n\r\n").unwrap().1).unwrap();
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig+/=="},
            {"type": "redacted_thinking", "data": "secret"},
            {"type": "text", "text": "let me see"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"b": 1.5, "a": 1}},
            {"type": "tool_use", "id": "u", "name": "f", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": "ok"},
            {"type": "tool_result", "tool_use_id": "u", "content": "ok"},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
    assert!(sent.contains("\"input\":{\"b\": 1.50, \"a\": 1}"), "to the byte: {sent}");
}

#[tokio::test]
async fn every_recorded_turn_goes_back_block_by_block() {
    for recording in recordings() {
        let reply = fold(decode([&*recording.encoded()]).0);
        let Some(turn) = reply.turn else { continue };
        let answer = Act::Send([STREAM_HEAD.as_bytes(), &stream(&[stop()])].concat());
        let mut peer = Peer::start(vec![vec![answer]]).await;
        let (content, kept) = (fenced(String::new()), turn.content.clone());
        let message = Message::Assistant { content, tool_calls: Vec::new(), turn: Some(fenced(turn)) };
        drop(within(provider(&peer).stream(&ChatRequest::of(vec![message]))).await.unwrap());
        let sent = peer.request().await;
        let body: Value = serde_json::from_str(sent.split_once("\r\n\r\n").unwrap().1).unwrap();
        let mut expected = kept;
        for block in expected.as_array_mut().unwrap() {
            if let Some(input) = block.get("input").and_then(Value::as_str) {
                block["input"] = serde_json::from_str(input).unwrap();
            }
        }
        assert_eq!(body["messages"][0]["content"], expected, "{}", recording.name);
    }
}
