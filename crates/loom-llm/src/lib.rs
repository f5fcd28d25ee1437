//! Model providers over real wires: what a model is asked, and what it says, piece by piece.
//!
//! Who writes an effect that talks to a model depends on this crate. It knows wires and nothing of policy: what it
//! yields is raw model output, below the guarded channel, and no error of it repeats a provider's words.
//!
//! - [`Provider`]: one request, one reply, streamed or whole. Dropping the stream closes the connection.
//! - [`openai`]: the chat-completions dialect that most providers and local servers speak.
//! - [`http`]: its transport: TLS as a value, time limits, no redirects, no repeats.
//! - [`sse`]: an incremental decoder of event streams that any split of the bytes leaves the same.
//! - [`collect_stream`]: from pieces to the reply, every piece judged before it is delivered.
//!
//! ```no_run
//! use std::convert::Infallible;
//! use std::future::pending;
//!
//! use loom_llm::http::HttpConfig;
//! use loom_llm::openai::OpenAiCompatible;
//! use loom_llm::{ChatRequest, Message, Provider, collect_stream};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let provider = OpenAiCompatible::new("local", HttpConfig::new("http://127.0.0.1:8080/v1"))?;
//! let request = ChatRequest::new("default", vec![Message::user("name a river")]).with_max_tokens(64);
//! let stream = provider.stream(&request).await?;
//! let pass = |_: &_| Ok::<(), Infallible>(());
//! let reply = collect_stream(provider.name(), stream, pass, pass, pending::<Infallible>()).await;
//! let bytes = reply.map_or_else(|failure| failure.delivered_bytes as usize, |reply| reply.text.len());
//! println!("{bytes} bytes of answer");
//! # Ok(())
//! # }
//! ```

pub mod chunk;
pub mod collect;
pub mod error;
pub mod http;
pub mod key;
pub mod openai;
pub mod provider;
pub mod request;
mod retry_after;
pub mod sse;
pub mod tls;

pub use chunk::{Collected, LlmChunk, ToolCall, Usage};
pub use collect::{Stopped, StreamFailure, collect_stream, token_estimate};
pub use error::{ProviderError, ProviderFault, Remedy};
pub use key::ApiKey;
pub use provider::{ChunkStream, Provider};
pub use request::{ChatRequest, Message, ResponseFormat};
