//! The OpenAI-compatible chat-completions dialect, as many providers and local servers speak it.
//!
//! # What is sent
//! - Roles `system`, `user`, `assistant`, `tool`; images before the text as `image_url` parts, bytes as `data:` URLs.
//! - Tool calls with their arguments verbatim as text; no arguments as `{}`, since servers parse the field. A call that
//!   came without an id is given one, and so is its result. A failed tool has no mark in the dialect: its text says so.
//! - Text that is empty beside tool calls as `null`.
//! - `extra` at the top of the body (`reasoning_effort`, `parallel_tool_calls`, …). It may not hold a name that
//!   [`ChatRequest`] has a field for, set or not, nor `stream` or `stream_options`; `response_format` it may hold where
//!   the request sets none (`{"type": "json_object"}`).
//!
//! # What goes back
//! Some providers refuse the results of tools unless they come with the reasoning before the calls: DeepSeek wants
//! `reasoning_content`, OpenRouter `reasoning_details`, Gemini the `extra_content` of each call. Where a reply with tool
//! calls holds any of these, it ends with a [`Turn`](crate::LlmChunk::Turn) of dialect `openai` that holds them as they
//! came; they are written into the assistant message it is sent back with, and nothing else of it is. All servers of the
//! dialect are sent it: drop the turn where a conversation moves to a server that refuses such fields.
//!
//! # What is read
//! Every field is optional. Tool calls are told apart by index, else id, else order; nothing is joined or repaired. A
//! reply that its server broke off (finish reason `error`, `abort`, …) is an error that keeps its usage.
//!
//! # Azure
//! A deployment is a base URL; the version stands in its query and the key in a header of its own:
//!
//! ```no_run
//! use loom_llm::ApiKey;
//! use loom_llm::http::HttpConfig;
//! use loom_llm::openai::OpenAiCompatible;
//!
//! # fn build(key: ApiKey) -> Result<OpenAiCompatible, loom_llm::http::ConfigError> {
//! let config = HttpConfig::new("https://name.openai.azure.com/openai/deployments/plan")
//!     .with_query("api-version", "2024-10-21")
//!     .with_key(key)
//!     .with_key_header("api-key");
//! # Ok(
//! OpenAiCompatible::new("azure", config)?.with_max_completion_tokens()
//! # )
//! # }
//! ```

mod calls;
mod content;
mod decode;
mod encode;
mod extent;
mod fault;
mod heard;
mod loose;
mod messages;
mod returned;
#[cfg(test)]
mod tests;
mod wire;

use self::encode::Spelling;
use crate::decoder::ReplyDecoder;
use crate::dialect::{Dialect, KeyHeader, Route, Unsendable};
use crate::http::{ConfigError, Exchange, HttpConfig, provider_over_http};
use crate::request::ChatRequest;

/// The dialect's name in [`ProviderTurn`](crate::ProviderTurn).
pub const DIALECT: &str = "openai";

/// A provider behind `POST <base URL>/chat/completions`.
#[derive(Debug)]
pub struct OpenAiCompatible {
    exchange: Exchange<ChatCompletions>,
}

impl OpenAiCompatible {
    /// The provider at the configured base URL, called `name` in errors. No connection is opened yet.
    ///
    /// # Errors
    /// [`ConfigError`] where the base URL or the certificate authorities cannot be used.
    pub fn new(name: &str, config: HttpConfig) -> Result<Self, ConfigError> {
        let dialect = ChatCompletions { spelling: Spelling::default() };
        Ok(Self { exchange: Exchange::new(name, config, dialect)? })
    }

    /// The same, with the bound on the reply sent as `max_completion_tokens`: OpenAI's reasoning models refuse
    /// `max_tokens`, most other servers know nothing else.
    #[must_use]
    pub fn with_max_completion_tokens(mut self) -> Self {
        self.exchange.dialect.spelling.max_completion_tokens = true;
        self
    }

    /// The same, without `stream_options`, by which usage is asked for: Mistral's servers refuse the field and tell
    /// usage unasked.
    #[must_use]
    pub fn without_stream_options(mut self) -> Self {
        self.exchange.dialect.spelling.no_stream_options = true;
        self
    }
}

provider_over_http!(OpenAiCompatible);

/// A decoder of one reply of the dialect, for a transport of one's own; errors name `provider` as the origin of words.
#[must_use]
pub fn decoder(provider: &str) -> ReplyDecoder {
    ReplyDecoder::new(provider, decode::ChatDecoder::new())
}

/// The dialect.
#[derive(Debug)]
struct ChatCompletions {
    spelling: Spelling,
}

impl Dialect for ChatCompletions {
    const KEY_HEADER: KeyHeader = KeyHeader::Bearer;

    fn route<'r>(&self, _request: &'r ChatRequest, _streamed: bool) -> Route<'r> {
        Route { path: vec!["chat".into(), "completions".into()], query: &[] }
    }

    fn body(&self, request: &ChatRequest, streamed: bool) -> Result<Vec<u8>, Unsendable> {
        encode::body(request, streamed, self.spelling)
    }

    fn decoder(&self, provider: &str) -> ReplyDecoder {
        decoder(provider)
    }
}
