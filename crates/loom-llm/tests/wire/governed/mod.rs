//! The LLM effect on the governed path: a real runtime in front, a scripted peer behind.

mod endings;
mod fences;
mod offline;
mod resets;
mod streams;
mod superseded;
mod tools;
mod view;

use std::sync::Arc;

use loom_effect_runtime::{EffectRuntime, Tool};
use loom_llm::effect::LlmEffectBuilder;
use loom_llm::{ChatRequest, LlmEffect, LlmReply, Provider};
use serde_json::json;

use crate::peer::{Act, STREAM_HEAD, event, text_event};

/// An effect `ask` over a provider.
fn ask(provider: impl Provider) -> LlmEffectBuilder {
    LlmEffect::builder("ask", provider)
}

/// A runtime with that effect alone, and the handle on it.
fn runtime(effect: LlmEffectBuilder) -> (EffectRuntime, Tool<ChatRequest, LlmReply>) {
    handle(EffectRuntime::builder().allow_all_calls().effect(effect.build()).build().unwrap())
}

fn handle(runtime: EffectRuntime) -> (EffectRuntime, Tool<ChatRequest, LlmReply>) {
    let tool = runtime.tool("ask").unwrap();
    (runtime, tool)
}

/// The script of a connection that streams: the head, then these acts.
fn streamed(mut script: Vec<Act>) -> Vec<Act> {
    script.insert(0, Act::Send(STREAM_HEAD.into()));
    script
}

/// Pieces of text, then an orderly end without usage.
fn texts_then_end(texts: &[&str]) -> Act {
    let mut body: Vec<u8> = texts.iter().flat_map(|text| text_event(text)).collect();
    body.extend(ending());
    Act::Send(body)
}

fn ending() -> Vec<u8> {
    let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    [event(&finish.to_string()), event("[DONE]")].concat()
}

fn usage_event(input: u64, output: u64) -> Vec<u8> {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}});
    event(&usage.to_string())
}

fn delta_event(delta: serde_json::Value) -> Vec<u8> {
    event(&json!({"choices": [{"index": 0, "delta": delta}]}).to_string())
}

/// A gate that a sink opens once it has been shown that text.
fn gate() -> Arc<tokio::sync::Notify> {
    Arc::new(tokio::sync::Notify::new())
}
