//! From the bytes of a reply to its pieces, without a network: what every dialect shares.

use std::str;
use std::time::Duration;

use loom_classify::{TaintOrigin, Tainted};
use thiserror::Error;

use crate::chunk::LlmChunk;
use crate::dialect::{Chunks, Decode, Ended, Fault, values_in};
use crate::error::{MalformedReply, Remedy};
use crate::sse::{SSE_BODY_MAX_BYTES, SseDecoder};

/// Decodes one reply, streamed or in one piece, in any split of its bytes: [`push`](Self::push) bytes, take pieces
/// with [`next_chunk`](Self::next_chunk) until it has none, [`finish`](Self::finish) at the end of the body and take
/// what is left.
///
/// It does no I/O. A dialect makes one: [`openai::decoder`](crate::openai::decoder),
/// [`anthropic::decoder`](crate::anthropic::decoder), [`google::decoder`](crate::google::decoder). Whether the body is an event stream or one JSON document is told by its first byte, since
/// servers answer in one piece whatever they were asked, and label it as they like.
///
/// It holds at most the bytes pushed and not yet decoded, within the bounds of [`sse`](crate::sse), the pieces of one
/// event, of at most [`JSON_VALUES_MAX`] values, and what a dialect keeps of the turn to send it back.
///
/// ```
/// # use loom_llm::{LlmChunk, openai};
/// let mut decoder = openai::decoder("local");
/// decoder.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n");
/// let first = decoder.next_chunk();
/// assert!(matches!(first, Ok(Some(LlmChunk::Text { text, .. })) if text == "Hi"));
/// ```
#[derive(Debug)]
pub struct ReplyDecoder {
    dialect: Box<dyn Decode>,
    origin: TaintOrigin,
    body: Body,
    chunks: Chunks,
    /// Why the reply failed, until what it told of usage is taken.
    failure: Option<DecodeError>,
    body_ended: bool,
    state: State,
}

/// Why a reply cannot be decoded further.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The reply is not what the dialect says.
    #[error("the reply cannot be read: {0}")]
    Malformed(MalformedReply),
    /// The reply is an error that the provider reports.
    #[error(
        "the provider reported an error inside its reply; its own message is kept apart, as it is not trusted"
    )]
    Reported {
        /// What the error's code or type lets the caller do.
        remedy: Remedy,
        /// The provider's words.
        message: Option<Tainted<String>>,
        /// How long it asks to be left alone, where the error says so.
        retry_after: Option<Duration>,
    },
    /// The body ended before the reply was whole.
    #[error("the reply ended without saying that it was whole")]
    EndedEarly,
}

/// The body by its kind, which its first byte tells.
#[derive(Debug)]
enum Body {
    /// Nothing but a byte order mark and white space has come.
    Unknown(Beginning),
    Events(SseDecoder),
    /// Markup, which is no reply of any dialect.
    WebPage,
    Document {
        bytes: Vec<u8>,
        /// How many further bytes there may be; `None` once there were more.
        room: Option<usize>,
    },
}

impl Body {
    fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Events(events) => events.push(bytes),
            Self::Document { bytes: document, room } => {
                *room = room.and_then(|room| room.checked_sub(bytes.len()));
                if room.is_some() {
                    document.extend_from_slice(bytes);
                }
            }
            Self::Unknown(_) | Self::WebPage => {}
        }
    }
}

/// What a body begins with until its kind can be told. White space says nothing in either form, and servers send it for
/// minutes to keep a connection alive, so it is dropped as it comes.
#[derive(Debug, Default)]
struct Beginning {
    head: Vec<u8>,
    past_mark: bool,
    blank_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// The reply is whole; what is left of it has been queued.
    Whole,
    Failed,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl ReplyDecoder {
    pub(crate) fn new(provider: &str, dialect: impl Decode + 'static) -> Self {
        Self {
            dialect: Box::new(dialect),
            origin: TaintOrigin::llm(provider),
            body: Body::Unknown(Beginning::default()),
            chunks: Chunks::new(),
            failure: None,
            body_ended: false,
            state: State::Reading,
        }
    }

    /// Adds bytes of the body. Those after the end of the reply or after an error are ignored.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.state != State::Reading || self.body_ended {
            return;
        }
        match &mut self.body {
            Body::Unknown(beginning) => {
                if let Some(body) = beginning.push(bytes) {
                    self.body = body;
                }
            }
            body => body.push(bytes),
        }
    }

    /// Says that the body has ended.
    pub fn finish(&mut self) {
        self.body_ended = true;
        match &mut self.body {
            Body::Events(events) => events.finish(),
            Body::Unknown(beginning) if beginning.is_too_large() => {}
            Body::Unknown(_) => self.body = Body::Events(ended_stream()),
            Body::Document { .. } | Body::WebPage => {}
        }
    }

    /// The next piece, or `None` until more bytes are pushed ([`is_over`](Self::is_over): for good).
    ///
    /// # Errors
    /// [`DecodeError`], after the pieces that stand before the fault; from then on there is nothing more.
    pub fn next_chunk(&mut self) -> Result<Option<LlmChunk>, DecodeError> {
        loop {
            if let Some(chunk) = self.chunks.pop_front() {
                return Ok(Some(chunk));
            }
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            if self.state != State::Reading {
                return Ok(None);
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    self.state = State::Failed;
                    self.body = Body::Unknown(Beginning::default());
                    // Pieces of the event that failed are not of a reply that can be trusted to be in order; what it
                    // says was spent is kept.
                    self.chunks.retain(|chunk| matches!(chunk, LlmChunk::Usage(_)));
                    self.failure = Some(error);
                }
            }
        }
    }

    /// Whether nothing more will come: the reply is whole and taken, or has failed. Bytes still on the wire need
    /// not be read.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state != State::Reading && self.chunks.is_empty() && self.failure.is_none()
    }

    /// Decodes the next event or the document; false where it needs more bytes.
    fn advance(&mut self) -> Result<bool, DecodeError> {
        match &mut self.body {
            Body::Unknown(beginning) if beginning.is_too_large() => {
                return Err(DecodeError::Malformed(MalformedReply::TooLarge));
            }
            Body::Unknown(_) => return Ok(false),
            Body::WebPage => return Err(DecodeError::Malformed(MalformedReply::Html)),
            Body::Document { room: None, .. } => {
                return Err(DecodeError::Malformed(MalformedReply::TooLarge));
            }
            Body::Document { .. } if !self.body_ended => return Ok(false),
            Body::Document { bytes, .. } => {
                let bytes = std::mem::take(bytes);
                let document = str::from_utf8(&bytes).map_err(|error| match error.error_len() {
                    None => DecodeError::EndedEarly,
                    Some(_) => DecodeError::Malformed(MalformedReply::NotTheDialect),
                })?;
                bound_values(document)?;
                let decoded = self.dialect.whole(document, &mut self.chunks);
                decoded.map_err(|fault| fault.told(&self.origin))?;
            }
            Body::Events(events) => {
                if let Some(event) =
                    events.next_event().map_err(|error| DecodeError::Malformed(error.into()))?
                {
                    let complete = event.complete;
                    bound_values(event.data)?;
                    match self.dialect.event(event.name, event.data, &mut self.chunks) {
                        // A last event that does not parse and that no blank line ended was cut off.
                        Err(Fault::Malformed(MalformedReply::NotTheDialect)) if !complete => {
                            return Err(DecodeError::EndedEarly);
                        }
                        Err(Fault::Cut) if complete => {
                            return Err(DecodeError::Malformed(MalformedReply::NotTheDialect));
                        }
                        decoded => decoded.map_err(|fault| fault.told(&self.origin))?,
                    }
                    if self.dialect.ended() != Ended::ByMark {
                        return Ok(true);
                    }
                } else if !self.body_ended {
                    return Ok(false);
                } else if self.dialect.ended() == Ended::NotYet {
                    return Err(DecodeError::EndedEarly);
                }
            }
        }
        self.dialect.finish(&mut self.chunks).map_err(|fault| fault.told(&self.origin))?;
        self.state = State::Whole;
        Ok(true)
    }
}

impl Beginning {
    /// Adds bytes; the body, once its kind can be told.
    fn push(&mut self, bytes: &[u8]) -> Option<Body> {
        self.head.extend_from_slice(bytes);
        if !self.past_mark {
            if self.head.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&self.head) {
                return None;
            }
            self.past_mark = true;
            if self.head.starts_with(BYTE_ORDER_MARK) {
                self.head.drain(..BYTE_ORDER_MARK.len());
            }
        }
        let blank = self.head.iter().position(|byte| !byte.is_ascii_whitespace());
        let blank = blank.unwrap_or(self.head.len());
        self.blank_bytes = self.blank_bytes.saturating_add(blank);
        self.head.drain(..blank);
        let room = SSE_BODY_MAX_BYTES.checked_sub(self.blank_bytes);
        let mut body = match self.head.first()? {
            b'{' | b'[' => Body::Document { bytes: Vec::new(), room },
            b'<' => Body::WebPage,
            _ => Body::Events(SseDecoder::new()),
        };
        body.push(&self.head);
        Some(body)
    }

    fn is_too_large(&self) -> bool {
        self.blank_bytes > SSE_BODY_MAX_BYTES
    }
}

/// The most JSON values in one event or document. Read into memory each takes some hundred bytes, whatever it takes on
/// the wire.
pub const JSON_VALUES_MAX: usize = 1 << 18;

fn bound_values(json: &str) -> Result<(), DecodeError> {
    // A value takes a byte at least, and a mark that parts it from the next.
    if json.len() <= JSON_VALUES_MAX {
        return Ok(());
    }
    let too_many = DecodeError::Malformed(MalformedReply::TooManyValues);
    if values_in(json) > JSON_VALUES_MAX { Err(too_many) } else { Ok(()) }
}

fn ended_stream() -> SseDecoder {
    let mut events = SseDecoder::new();
    events.finish();
    events
}

impl Fault {
    fn told(self, origin: &TaintOrigin) -> DecodeError {
        match self {
            Self::Malformed(reason) => DecodeError::Malformed(reason),
            Self::Cut => DecodeError::EndedEarly,
            Self::Reported { remedy, message, retry_after } => DecodeError::Reported {
                remedy,
                retry_after,
                message: message.map(|message| Tainted::new(message, origin.clone())),
            },
        }
    }
}
