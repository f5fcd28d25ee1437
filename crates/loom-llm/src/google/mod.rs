//! The Gemini dialect (`generateContent`), as Google's Gemini API and Vertex AI speak it.
//!
//! # What is sent
//! - The model stands in the path: `x` is `models/x`; `models/x`, `tunedModels/x`,
//!   `publishers/google/models/x` and `projects/…/locations/…/endpoints/x` are kept. Anything else in a name, `..`, `?`
//!   and `:` among it, makes the request unsendable.
//! - System messages at the top, wherever they stand. Messages of one side that follow each other are one content, so
//!   all results of a turn's tools stand in one.
//! - The result of a tool as `{"result": text}`, or `{"error": text}` where it failed. Text that is JSON stays text: as an
//!   object it could say of itself that it failed.
//! - Schemas as JSON Schema: `parametersJsonSchema`, `responseJsonSchema`.
//! - `extra` at the top of the body (`safetySettings`, `cachedContent`, …). Its `generationConfig` and `toolConfig` join
//!   those of the request (`thinkingConfig`, `streamFunctionCallArguments`), and may hold no name that
//!   [`ChatRequest`] has a field for.
//!
//! # What goes back
//! A reply with parts that text and tool calls cannot rebuild (thought signatures, code that the provider ran, images)
//! ends with a [`Turn`](crate::LlmChunk::Turn) of dialect `google`: its parts in their order, pieces of unsigned text
//! joined. The arguments of a call stand there as the text that came, and are sent back as that very JSON. Gemini 3
//! refuses calls without their signature, so keep the turn with them.
//!
//! # What is read
//! Every field is optional. Arguments that come as an object are its bytes; those that are streamed value by value are
//! put together in order of first appearance and come when their call has ended. A call that its reply cut off has
//! arguments that break off, so that they cannot be taken for whole ones.

mod arguments;
mod calls;
mod contents;
mod decode;
mod encode;
mod path;
mod turn;
mod wire;

use std::borrow::Cow;

use crate::decoder::ReplyDecoder;
use crate::dialect::{Dialect, KeyHeader, Route, Unsendable};
use crate::http::{ConfigError, Exchange, HttpConfig, provider_over_http};
use crate::request::{ChatRequest, MODEL_DEFAULT};

pub use arguments::{ARGUMENT_DEPTH_MAX, ARGUMENT_VALUES_MAX};

/// The dialect's name in [`ProviderTurn`](crate::ProviderTurn).
pub const DIALECT: &str = "google";

/// A provider behind `POST <base URL>/models/{model}:streamGenerateContent`; the Gemini API's own base URL is
/// `https://generativelanguage.googleapis.com/v1beta`. The key goes into the header `x-goog-api-key`.
///
/// Vertex AI wants a bearer token and a longer model name:
///
/// ```
/// # use loom_llm::{ApiKey, google::Gemini, http::{ConfigError, HttpConfig}};
/// # fn provider(token: ApiKey) -> Result<Gemini, ConfigError> {
/// let config = HttpConfig::new("https://aiplatform.googleapis.com/v1")
///     .with_key(token)
///     .with_key_header("authorization");
/// // The model is then `projects/PROJECT/locations/global/publishers/google/models/MODEL`.
/// Gemini::new("vertex", config)
/// # }
/// ```
#[derive(Debug)]
pub struct Gemini {
    exchange: Exchange<GenerateContent>,
}

impl Gemini {
    /// The provider at the configured base URL, called `name` in errors. No connection is opened yet.
    ///
    /// # Errors
    /// [`ConfigError`] where the base URL or the certificate authorities cannot be used.
    pub fn new(name: &str, config: HttpConfig) -> Result<Self, ConfigError> {
        Ok(Self { exchange: Exchange::new(name, config, GenerateContent)? })
    }
}

provider_over_http!(Gemini);

/// A decoder of one reply of the dialect, for a transport of one's own; errors name `provider` as the origin of words.
///
/// Beside what every decoder holds, it keeps the parts of the reply until its end, for the turn to send back, and the
/// arguments of open calls: parts bounded by [`TURN_VALUES_MAX`](crate::error::TURN_VALUES_MAX), text by the bound of the
/// body, the number of streamed arguments by [`ARGUMENT_VALUES_MAX`].
#[must_use]
pub fn decoder(provider: &str) -> ReplyDecoder {
    ReplyDecoder::new(provider, decode::ContentDecoder::new())
}

/// The dialect.
#[derive(Debug)]
struct GenerateContent;

impl Dialect for GenerateContent {
    const KEY_HEADER: KeyHeader = KeyHeader::Named("x-goog-api-key");

    fn route<'r>(&self, request: &'r ChatRequest, streamed: bool) -> Route<'r> {
        let method = if streamed { "streamGenerateContent" } else { "generateContent" };
        // A request without a path has no body either, and is not sent.
        let mut path = model_path(request).unwrap_or_default();
        let model = path.pop().unwrap_or_default();
        path.push(Cow::Owned(format!("{model}:{method}")));
        Route { path, query: if streamed { &[("alt", "sse")] } else { &[] } }
    }

    fn body(&self, request: &ChatRequest, _streamed: bool) -> Result<Vec<u8>, Unsendable> {
        model_path(request)?;
        encode::body(request)
    }

    fn decoder(&self, provider: &str) -> ReplyDecoder {
        decoder(provider)
    }
}

/// Where models stand in the API.
const COLLECTIONS: [&str; 3] = ["endpoints", "models", "tunedModels"];

/// The model's place, in the path's segments: pairs of a collection and a name. None of them can lead elsewhere.
fn model_path(request: &ChatRequest) -> Result<Vec<Cow<'_, str>>, Unsendable> {
    let model = request.model.as_deref().unwrap_or(MODEL_DEFAULT);
    let bare = (!model.contains('/')).then_some("models");
    let segments: Vec<_> = bare.into_iter().chain(model.split('/')).map(Cow::Borrowed).collect();
    let in_collection = segments.iter().rev().nth(1).is_some_and(|name| COLLECTIONS.contains(&&**name));
    let plain = segments.iter().all(|segment| is_plain(segment));
    if plain && in_collection && segments.len() % 2 == 0 { Ok(segments) } else { Err(Unsendable) }
}

fn is_plain(segment: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@');
    segment.bytes().all(known) && segment.bytes().any(|byte| byte != b'.')
}
