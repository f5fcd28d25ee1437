//! The Gemini dialect: what its decoder makes of streams as servers really send them, and what it sends.

mod arguments;
mod calls;
mod conversation;
mod recordings;
mod repeated;
mod replies;
mod requests;
mod splits;
mod turns;

use loom_llm::decoder::DecodeError;
use loom_llm::google::Gemini;
use loom_llm::http::HttpConfig;
use loom_llm::{ApiKey, ChatRequest, Collected, LlmChunk, Provider, google};
use serde_json::{Value, json};

use crate::decoded::decoded_by;
use crate::peer::{Act, Peer, STREAM_HEAD, event, within};

/// What a body decodes to when it comes in these packets, and the error that ends it if one does.
fn decoded<'b>(packets: impl IntoIterator<Item = &'b [u8]>) -> (Vec<LlmChunk>, Option<DecodeError>) {
    decoded_by(google::decoder("script"), packets)
}

/// The pieces of a stream of these objects, which fails in no way.
fn pieces(chunks: &[Value]) -> Vec<LlmChunk> {
    let (pieces, error) = decoded([stream(chunks).as_slice()]);
    assert!(error.is_none(), "{error:?} after {pieces:?}");
    pieces
}

/// The reply that the stream is.
fn reply(chunks: &[Value]) -> Collected {
    fold(pieces(chunks))
}

/// The error that ends the stream.
fn failure(chunks: &[Value]) -> DecodeError {
    decoded([stream(chunks).as_slice()]).1.expect("the stream fails")
}

fn stream(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| event(&chunk.to_string())).collect()
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

/// A chunk with these parts.
fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn text(text: &str) -> Value {
    parts(json!([{"text": text}]))
}

/// A chunk with a piece of a call.
fn call(piece: Value) -> Value {
    parts(json!([{"functionCall": piece}]))
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": reason, "index": 0}]})
}

fn end() -> Value {
    finish("STOP")
}

fn provider(peer: &Peer) -> Gemini {
    let config = HttpConfig::new(format!("http://{}/v1beta", peer.address));
    Gemini::new("peer", config.with_key(ApiKey::new("sk-key").unwrap())).unwrap()
}

/// What a streamed request is on the wire: its head, and its body as text.
async fn sent(request: &ChatRequest) -> (String, String) {
    let answer = [STREAM_HEAD.as_bytes(), &stream(&[end()])].concat();
    let mut peer = Peer::start(vec![vec![Act::Send(answer)]]).await;
    let _stream = within(provider(&peer).stream(request)).await.unwrap();
    let request = peer.request().await;
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The body of a streamed request.
async fn sent_body(request: &ChatRequest) -> Value {
    serde_json::from_str(&sent(request).await.1).unwrap()
}

/// Whether the request cannot be written, so that nothing is sent.
async fn is_unsendable(request: &ChatRequest) -> bool {
    let peer = Peer::start(Vec::new()).await;
    let provider = provider(&peer);
    let streamed = within(provider.stream(request)).await.err().map(|error| error.fault().clone());
    let whole = within(provider.complete(request)).await.err().map(|error| error.fault().clone());
    assert_eq!(streamed, whole);
    let unsendable = streamed == Some(loom_llm::ProviderFault::Unsendable);
    assert!(!unsendable || peer.connections() == 0, "what cannot be written opens no connection");
    unsendable
}
