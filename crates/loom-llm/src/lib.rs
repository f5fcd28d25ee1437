//! Model providers over real wires, and the governed effect that asks them.
//!
//! Who calls a model, or writes a provider of one, depends on this crate. [`LlmEffect`] is the way to a model: its
//! text reaches sinks only through the runtime's guarded channel, and leaves the call tainted. What stands below it,
//! providers and their chunks, is raw model output; no error of this crate repeats a provider's words.
//!
//! - [`LlmEffect`]: a [`Provider`] as an effect: [`ChatRequest`] in, [`LlmReply`] out.
//! - [`stream_token_budget`]: severs a reply that grows beyond a bound, while it is being streamed.
//! - [`Provider`]: one request, one reply, streamed or whole. Dropping the stream closes the connection.
//! - [`openai`]: the chat-completions dialect that most providers and local servers speak.
//! - [`http`]: its transport: TLS as a value, time limits, no redirects, no repeats.
//! - [`sse`]: an incremental decoder of event streams that any split of the bytes leaves the same.
//! - [`collect_stream`]: from pieces to the reply, every piece judged before it is delivered.
//!
//! A provider is a name and a stream of pieces; this one needs no network:
//!
//! ```
//! use futures::future::BoxFuture;
//! use futures::stream::{self, StreamExt};
//! use loom_effect_runtime::{EffectDelta, EffectRuntime};
//! use loom_llm::{ChatRequest, ChunkStream, LlmChunk, LlmEffect, LlmReply, Message, Provider, ProviderError};
//! use loom_llm::stream_token_budget;
//!
//! struct Offline;
//!
//! impl Provider for Offline {
//!     fn name(&self) -> &str {
//!         "offline"
//!     }
//!     fn stream<'a>(&'a self, _: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
//!         let pieces = ["The ", "Rhine."].map(|text| Ok(LlmChunk::Text { choice: 0, text: text.to_owned() }));
//!         Box::pin(async move { Ok(stream::iter(pieces).boxed()) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .middleware(stream_token_budget(512))
//!     .effect(LlmEffect::builder("ask", Offline).model("none").build())
//!     .build()?;
//! let ask = runtime.tool::<ChatRequest, LlmReply>("ask")?;
//! let reply = runtime
//!     .invoke_transient(ask, ChatRequest::of(vec![Message::user("name a river")]).with_max_tokens(64))
//!     .on_delta(|delta| if let EffectDelta::Text { text, .. } = delta { print!("{}", text.unwrap_tainted()) })
//!     .await?;
//! assert_eq!(reply.content.unwrap_tainted(), "The Rhine.");
//! # Ok(())
//! # }
//! ```
//!
//! Over the wire the provider is another and the rest stays the same:
//!
//! ```no_run
//! use loom_llm::http::HttpConfig;
//! use loom_llm::openai::OpenAiCompatible;
//! use loom_llm::LlmEffect;
//!
//! # fn build() -> Result<LlmEffect, loom_llm::http::ConfigError> {
//! let provider = OpenAiCompatible::new("local", HttpConfig::new("http://127.0.0.1:8080/v1"))?;
//! # Ok(
//! LlmEffect::builder("ask", provider).build()
//! # )
//! # }
//! ```

pub mod anthropic;
pub mod budget;
pub mod chunk;
pub mod collect;
pub mod decoder;
mod dialect;
pub mod effect;
pub mod error;
pub mod google;
pub mod http;
pub mod key;
pub mod openai;
pub mod provider;
pub mod request;
mod retry_after;
pub mod sse;
pub mod tls;

pub use budget::{StreamTokenBudget, stream_token_budget};
pub use chunk::{Collected, LlmChunk, ProviderTurn, ToolCall};
pub use collect::{Stopped, StreamFailure, collect_stream, token_estimate};
pub use decoder::{DecodeError, ReplyDecoder};
pub use effect::{FinishReason, LlmEffect, LlmEffectBuilder, LlmReply, LlmToolCall};
pub use effect::{ToolArguments, ToolArgumentsError};
pub use error::{ProviderError, ProviderFault, Remedy};
pub use key::ApiKey;
#[doc(no_inline)]
pub use loom_effect_runtime::Usage;
pub use provider::{ChunkStream, Provider};
pub use request::{ChatRequest, Image, Message, ResponseFormat, ToolChoice, ToolSpec};

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
