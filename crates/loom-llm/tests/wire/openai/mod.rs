//! The chat-completions dialect without a network: what a decoder makes of streams as providers really send them.
//!
//! What goes wrong in the field falls into thirteen kinds; a test that stands for one says so before its name.

mod calls;
mod errors;
mod lenient;
mod loopback;
mod reasoning;
mod splits;
mod usage;
mod vendors;

use loom_llm::decoder::DecodeError;
use loom_llm::{Collected, LlmChunk, openai};
use serde_json::{Value, json};

use crate::decoded::decoded_by;
use crate::peer::event;

/// What a body decodes to when it comes in these packets, and the error that ends it if one does.
fn decoded<'b>(packets: impl IntoIterator<Item = &'b [u8]>) -> (Vec<LlmChunk>, Option<DecodeError>) {
    decoded_by(openai::decoder("script"), packets)
}

/// The same of events that come at once.
fn decoded_events(events: &[Value]) -> (Vec<LlmChunk>, Option<DecodeError>) {
    decoded([stream(events).as_slice()])
}

/// The reply that the events are.
fn reply(events: &[Value]) -> Collected {
    let (chunks, error) = decoded_events(events);
    assert!(error.is_none(), "{error:?} after {chunks:?}");
    fold(chunks)
}

/// The error that ends the stream of these events.
fn failure(events: &[Value]) -> DecodeError {
    decoded_events(events).1.expect("the stream fails")
}

fn stream(events: &[Value]) -> Vec<u8> {
    events.iter().flat_map(|data| event(&data.to_string())).collect()
}

fn fold(chunks: Vec<LlmChunk>) -> Collected {
    let mut collected = Collected::default();
    chunks.into_iter().for_each(|chunk| collected.fold(chunk).unwrap());
    collected
}

/// The tool calls as (id, name, arguments); what was not told is empty.
fn calls(reply: &Collected) -> Vec<(&str, &str, &str)> {
    let calls = reply.tool_calls.iter();
    calls
        .map(|call| (call.id.as_deref().unwrap_or(""), call.name.as_deref().unwrap_or(""), &*call.arguments))
        .collect()
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn text(text: &str) -> Value {
    delta(json!({"content": text}))
}

fn tool(part: Value) -> Value {
    delta(json!({"tool_calls": [part]}))
}

fn end() -> Value {
    finish("stop")
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}
