//! The Anthropic Messages dialect as its servers, its resellers and those who imitate it really speak it.

mod beginnings;
mod blocks;
mod hostile;
mod messages;
mod middle_boxes;
mod recorded;
mod repeated;
mod requests;
mod round_trip;
mod said;

use loom_llm::http::HttpConfig;
use loom_llm::{Collected, DecodeError, LlmChunk, anthropic};
use serde_json::{Value, json};

use crate::peer::Peer;

/// The stream of those events as the provider sends it: each named by its type.
fn stream(events: &[Value]) -> Vec<u8> {
    let event = |data: &Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    events.iter().map(event).collect::<String>().into_bytes()
}

/// What the decoder makes of a body in those packets.
fn decode<'a>(packets: impl IntoIterator<Item = &'a [u8]>) -> (Vec<LlmChunk>, Option<DecodeError>) {
    let (mut decoder, mut chunks) = (anthropic::decoder("peer"), Vec::new());
    let mut take = |decoder: &mut loom_llm::ReplyDecoder| loop {
        match decoder.next_chunk() {
            Ok(Some(chunk)) => chunks.push(chunk),
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    };
    let mut error = None;
    for packet in packets {
        decoder.push(packet);
        error = error.or_else(|| take(&mut decoder));
    }
    decoder.finish();
    error = error.or_else(|| take(&mut decoder));
    assert!(decoder.is_over());
    (chunks, error)
}

/// The pieces of a reply that decodes without an error.
fn chunks(events: &[Value]) -> Vec<LlmChunk> {
    let (chunks, error) = decode([&*stream(events)]);
    assert!(error.is_none(), "{error:?} of {events:?}");
    chunks
}

fn reply(events: &[Value]) -> Collected {
    fold(chunks(events))
}

fn fold(chunks: Vec<LlmChunk>) -> Collected {
    let mut collected = Collected::default();
    chunks.into_iter().for_each(|chunk| collected.fold(chunk).unwrap());
    collected
}

/// The blocks of the turn that is sent back, where there is one.
fn turn(reply: &Collected) -> Option<&Vec<Value>> {
    reply.turn.as_ref().map(|turn| {
        assert_eq!(turn.dialect, "anthropic");
        turn.content.as_array().unwrap()
    })
}

fn calls(reply: &Collected) -> Vec<(&str, &str, &str)> {
    let calls = reply.tool_calls.iter();
    calls.map(|c| (c.id.as_deref().unwrap_or(""), c.name.as_deref().unwrap_or(""), &*c.arguments)).collect()
}

fn start(id: &str) -> Value {
    json!({"type": "message_start", "message": {"id": id, "type": "message", "role": "assistant", "content": []}})
}

fn open(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn close(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn text(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn thinking(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "thinking_delta", "thinking": text}))
}

fn arguments(index: u64, piece: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
}

fn tool(index: u64, id: &str, input: Value) -> Value {
    open(index, json!({"type": "tool_use", "id": id, "name": "f", "input": input}))
}

fn end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}})
}

fn stop() -> Value {
    json!({"type": "message_stop"})
}

fn said_text(text: &str) -> LlmChunk {
    LlmChunk::Text { choice: 0, text: text.to_owned() }
}

fn finish(reason: &str) -> LlmChunk {
    LlmChunk::Finish { choice: 0, reason: reason.to_owned() }
}

fn provider(peer: &Peer) -> anthropic::Anthropic {
    anthropic::Anthropic::new("peer", HttpConfig::new(peer.base_url())).unwrap()
}
