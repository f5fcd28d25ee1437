//! What every dialect of the wire is to the rest of this crate: how a request is addressed and written, and how the
//! events of a reply become chunks.

mod kept;
mod lenient;
mod raw;
mod sent;
mod told;
mod usage;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::chunk::LlmChunk;
use crate::decoder::ReplyDecoder;
use crate::error::{MalformedReply, Remedy};
use crate::request::ChatRequest;

pub(crate) use kept::KeptValues;
pub(crate) use lenient::{Key, filled, lenient_object};
pub(crate) use raw::{
    Field, NOT_THE_DIALECT, count, document, is_error, list, object, read, says_nothing, text, values_in,
};
pub(crate) use sent::{object_of, sent_arguments};
pub(crate) use told::{Told, read_error, told};
pub(crate) use usage::RunningUsage;

/// Pieces decoded and not yet taken.
pub(crate) type Chunks = VecDeque<LlmChunk>;

/// The request side of a dialect.
pub(crate) trait Dialect: Send + Sync + 'static {
    /// The header that carries the key unless the configuration names another.
    const KEY_HEADER: KeyHeader;

    /// Headers that every request of the dialect has.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];

    /// Where the request goes, below the base URL.
    fn route<'r>(&self, request: &'r ChatRequest, streamed: bool) -> Route<'r>;

    /// The body of the request. Here fenced content leaves its fence, on its way to the model and nowhere else.
    fn body(&self, request: &ChatRequest, streamed: bool) -> Result<Vec<u8>, Unsendable>;

    /// A decoder at the start of a reply.
    fn decoder(&self, provider: &str) -> ReplyDecoder;
}

/// A place below the base URL: path segments, and what is added to the query.
pub(crate) struct Route<'r> {
    pub(crate) path: Vec<Cow<'r, str>>,
    pub(crate) query: &'static [(&'static str, &'static str)],
}

/// How a key stands in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer …`.
    Bearer,
    /// The bare key in the named header.
    Named(&'static str),
}

/// The request cannot be written in the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsendable;

impl From<serde_json::Error> for Unsendable {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// The reply side of a dialect: reads the events of one reply, in order.
pub(crate) trait Decode: Send + fmt::Debug {
    /// Reads one event of a stream and appends its pieces.
    fn event(&mut self, name: &str, data: &str, out: &mut Chunks) -> Result<(), Fault>;

    /// Reads a reply that came in one piece and appends its pieces.
    fn whole(&mut self, body: &str, out: &mut Chunks) -> Result<(), Fault>;

    /// Appends what could only be told once the reply is whole. Called once, before the end.
    fn finish(&mut self, _out: &mut Chunks) -> Result<(), Fault> {
        Ok(())
    }

    /// How far the reply has come.
    fn ended(&self) -> Ended;
}

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing has said that it is whole.
    NotYet,
    /// A finish reason has come; usage may follow.
    ByReason,
    /// The end mark has come; nothing follows.
    ByMark,
}

/// An event that is not a piece of a reply.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not of the dialect.
    Malformed(MalformedReply),
    /// It is JSON that breaks off.
    Cut,
    /// It is an error that the provider reports, in its own words.
    Reported { remedy: Remedy, message: Option<String>, retry_after: Option<Duration> },
}

impl Fault {
    /// The error that a JSON document reports.
    pub(crate) fn reported(document: &str) -> Self {
        serde_json::from_str(document).map(|body| told(&body)).unwrap_or_default().into()
    }
}

impl From<Told> for Fault {
    fn from(told: Told) -> Self {
        let Told { message, remedy, retry_after } = told;
        Self::Reported { remedy: remedy.unwrap_or(Remedy::Retry), message, retry_after }
    }
}

/// Reads a document of the dialect.
pub(crate) fn parse<'d, T: serde::Deserialize<'d>>(document: &'d str) -> Result<T, Fault> {
    serde_json::from_str(document).map_err(|error| {
        if error.is_eof() { Fault::Cut } else { Fault::Malformed(MalformedReply::NotTheDialect) }
    })
}
