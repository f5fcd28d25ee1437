//! The Anthropic Messages dialect, as Anthropic, its resellers and compatible servers speak it.
//!
//! A reply whose parts text and tool calls cannot rebuild (thinking, tools that the provider ran itself) comes with a
//! [`ProviderTurn`](crate::ProviderTurn) of the dialect `anthropic`: the list of its content blocks in their order.
//! The input of a tool block stands there as the text that came, and is sent back as that very JSON.

mod block;
mod blocks;
mod call_ids;
mod decode;
mod encode;
mod input;
mod messages;
mod wire;

use crate::decoder::ReplyDecoder;
use crate::dialect::{Dialect, KeyHeader, Route, Unsendable};
use crate::http::{ConfigError, Exchange, HttpConfig, provider_over_http};
use crate::request::ChatRequest;

pub use encode::MAX_TOKENS_DEFAULT;

/// The dialect's name in a turn that is sent back.
const DIALECT: &str = "anthropic";

/// A provider behind `POST <base URL>/messages`; Anthropic's own base URL is `https://api.anthropic.com/v1`.
///
/// The key goes into the header `x-api-key`. System messages go to the top of the request wherever they stand. The
/// API demands a bound on the reply: [`MAX_TOKENS_DEFAULT`] where the request has none. Text of nothing but white
/// space is left out, since the API refuses it.
///
/// [`ChatRequest::extra`] may hold any field of the API that a request has no field for; `output_config` too, where it
/// has no `format` beside that of the request, and `output_format` where the request has no form of its own.
#[derive(Debug)]
pub struct Anthropic {
    exchange: Exchange<Messages>,
}

impl Anthropic {
    /// The provider at the configured base URL, called `name` in errors. No connection is opened yet.
    ///
    /// # Errors
    /// [`ConfigError`] where the base URL or the certificate authorities cannot be used.
    pub fn new(name: &str, config: HttpConfig) -> Result<Self, ConfigError> {
        Ok(Self { exchange: Exchange::new(name, config, Messages)? })
    }
}

provider_over_http!(Anthropic);

/// A decoder of one reply of the dialect, for a transport of one's own; errors name `provider` as the origin of words.
///
/// Beside what every decoder holds, it keeps the blocks of the reply until its end, for the turn to send back: their
/// bytes are bounded by the bound of the body.
#[must_use]
pub fn decoder(provider: &str) -> ReplyDecoder {
    ReplyDecoder::new(provider, decode::MessageDecoder::new())
}

/// The dialect.
#[derive(Debug)]
struct Messages;

impl Dialect for Messages {
    const KEY_HEADER: KeyHeader = KeyHeader::Named("x-api-key");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];

    fn route<'r>(&self, _request: &'r ChatRequest, _streamed: bool) -> Route<'r> {
        Route { path: vec!["messages".into()], query: &[] }
    }

    fn body(&self, request: &ChatRequest, streamed: bool) -> Result<Vec<u8>, Unsendable> {
        encode::body(request, streamed)
    }

    fn decoder(&self, provider: &str) -> ReplyDecoder {
        decoder(provider)
    }
}
