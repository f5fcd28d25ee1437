//! The model that the suite asks, and what it says to the one request that most tests send.

use std::env;
use std::time::Duration;

use loom_effect_runtime::{CallReport, EffectRuntime, Tool, Usage};
use loom_llm::effect::LlmEffectBuilder;
use loom_llm::http::{HttpConfig, Timeouts};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::{ChatRequest, LlmEffect, LlmReply, Message};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// What the model says to it fills any bound below its context, since it falls into a loop.
const PROMPT: &str = "Write a long story about a fox who crosses a river.";
/// The bound of most requests, far enough for a break in the middle.
pub(crate) const TOKENS_MAX: u32 = 24;
/// The longest wait for anything that must happen; only a failing test reaches it.
const WAIT: Duration = Duration::from_secs(60);
/// A server with one slot lets the last of many wait for all the others.
const FIRST_BYTE: Duration = Duration::from_secs(500);

/// The greedy answer to the request of [`request`] with [`TOKENS_MAX`].
#[derive(Debug)]
pub(crate) struct Greedy {
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
}

/// The base URL of the server.
pub(crate) fn base_url() -> String {
    env::var("LOOM_REAL_MODEL_URL").expect("LOOM_REAL_MODEL_URL is not set; run `cargo xtask real-model`")
}

/// The request whose greedy answer the tests compare with itself.
pub(crate) fn request(tokens_max: u32) -> ChatRequest {
    asking(PROMPT, tokens_max)
}

pub(crate) fn asking(prompt: &str, tokens_max: u32) -> ChatRequest {
    ChatRequest::of(vec![Message::user(prompt)]).with_max_tokens(tokens_max).with_temperature(0.0)
}

/// An effect `ask` that reaches the model at that base URL.
pub(crate) fn ask(base_url: &str) -> LlmEffectBuilder {
    let mut timeouts = Timeouts::default();
    timeouts.first_byte = FIRST_BYTE;
    let config = HttpConfig::new(base_url).with_timeouts(timeouts);
    LlmEffect::builder("ask", OpenAiCompatible::new("model", config).unwrap())
}

/// A runtime with that effect alone, and the handle on it.
pub(crate) fn runtime(effect: LlmEffectBuilder) -> (EffectRuntime, Tool<ChatRequest, LlmReply>) {
    handle(EffectRuntime::builder().allow_all_calls().effect(effect.build()).build().unwrap())
}

pub(crate) fn handle(runtime: EffectRuntime) -> (EffectRuntime, Tool<ChatRequest, LlmReply>) {
    let tool = runtime.tool("ask").unwrap();
    (runtime, tool)
}

/// The greedy answer, asked for once.
pub(crate) async fn greedy() -> &'static Greedy {
    static GREEDY: OnceCell<Greedy> = OnceCell::const_new();
    GREEDY
        .get_or_init(|| async {
            let (runtime, tool) = runtime(ask(&base_url()));
            let reply = within(runtime.invoke_transient(tool, request(TOKENS_MAX)).into_future()).await;
            let LlmReply { content, usage, .. } = reply.unwrap();
            Greedy { text: content.unwrap_tainted(), usage }
        })
        .await
}

/// What a call that ended early says of usage: what came until then, or nothing, but never zero for unknown.
pub(crate) fn assert_nothing_unknown_is_zero(report: &CallReport) {
    let usage = report.usage.unwrap_or_default();
    assert!(usage.input_tokens != Some(0) && usage.output_tokens != Some(0), "{usage:?}");
    assert_ne!(report.usage, Some(Usage::default()), "unknown is told as unknown");
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    timeout(WAIT, future).await.expect("nothing happened within the wait")
}
