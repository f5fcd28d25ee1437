//! An incremental decoder of server-sent events: bytes in, in any split; whole events out.
//!
//! It follows the event-stream grammar of the WHATWG HTML standard (§9.2.6) with one stated difference: an event
//! that ends with the body instead of a blank line is delivered, because providers leave the last blank line out.
//! Such an event says so ([`SseEvent::complete`]), so that a reader can tell a lazy end from a cut one.
//!
//! Bytes are buffered and only whole lines are decoded, so a character split over two packets is never seen half.
//! Neither events nor the verdict depend on how the bytes were split, and the work is linear in their number.

use std::str;

use memchr::memchr2;
use thiserror::Error;

/// The longest line accepted, in bytes, its line end not counted.
pub const SSE_LINE_MAX_BYTES: usize = 1 << 20;
/// The largest data of one event accepted, in bytes, joining line feeds counted.
pub const SSE_EVENT_MAX_BYTES: usize = 4 << 20;
/// The longest body accepted, in bytes.
pub const SSE_BODY_MAX_BYTES: usize = 32 << 20;

/// The most that a decoder without a further event holds, in bytes: an unfinished line, the data and the name of an
/// unfinished event, and the last event id. See [`SseDecoder::buffered_bytes`].
pub const SSE_BUFFERED_MAX_BYTES: usize = SSE_EVENT_MAX_BYTES + 3 * SSE_LINE_MAX_BYTES;

const _: () = assert!(SSE_LINE_MAX_BYTES <= SSE_EVENT_MAX_BYTES && SSE_EVENT_MAX_BYTES <= SSE_BODY_MAX_BYTES);

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event, borrowed from its decoder until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// The event's type; empty where the stream names none (the standard then reads `message`).
    pub name: &'a str,
    /// The data lines, joined by line feeds.
    pub data: &'a str,
    /// The last event id that the stream has set; empty before the first.
    pub id: &'a str,
    /// Whether a blank line ended the event; false where the body ended first.
    pub complete: bool,
}

/// Why a body is not an acceptable event stream. The decoder stays failed: later calls answer the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SseError {
    /// A line is longer than [`SSE_LINE_MAX_BYTES`].
    #[error("expected lines of at most {SSE_LINE_MAX_BYTES} bytes in the event stream, got a longer one")]
    LineTooLong,
    /// The data of one event is larger than [`SSE_EVENT_MAX_BYTES`].
    #[error("expected events of at most {SSE_EVENT_MAX_BYTES} bytes in the event stream, got a larger one")]
    EventTooLarge,
    /// The body is longer than [`SSE_BODY_MAX_BYTES`].
    #[error("expected an event stream of at most {SSE_BODY_MAX_BYTES} bytes, got a longer one")]
    BodyTooLong,
    /// A line is not UTF-8.
    #[error("expected UTF-8 in the event stream, got other bytes")]
    InvalidUtf8,
}

/// The decoder: [`push`](Self::push) bytes, take events with [`next_event`](Self::next_event) until it has none,
/// [`finish`](Self::finish) at the end of the body and take what is left.
///
/// It does no I/O and holds at most the bytes pushed and not yet taken, one event and one line. Where an event is one
/// `data` line with its blank line behind it, as providers write them, the data is lent from the bytes as they came.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// Bytes received; those before `start` are consumed, those before `scanned` hold no line end.
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    body_bytes: usize,
    over_body_bound: bool,
    past_first_line: bool,
    skip_line_feed: bool,
    ended: bool,
    name: String,
    data: String,
    has_data: bool,
    /// The range in `buffer` of the data of an event that has no other data line; `data` is then empty.
    sole_data: Option<(usize, usize)>,
    /// The event has been handed out and is cleared at the next call.
    taken: bool,
    id: String,
    retry_ms: Option<u64>,
    failed: Option<SseError>,
}

impl SseDecoder {
    /// A decoder at the start of a body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes of the body. Those after [`finish`](Self::finish) or after a failure are ignored.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.ended || self.failed.is_some() || self.over_body_bound {
            return;
        }
        // Moving the rest only when at least half is consumed keeps the total work linear.
        if self.start >= self.buffer.len().div_ceil(2) {
            self.drop_consumed();
        }
        let room = SSE_BODY_MAX_BYTES - self.body_bytes;
        let accepted = bytes.get(..room).unwrap_or(bytes);
        self.over_body_bound = accepted.len() < bytes.len();
        self.body_bytes += accepted.len();
        self.buffer.extend_from_slice(accepted);
    }

    /// Says that the body has ended: what stands in the buffer is its last line.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// The next whole event, or `None` until more bytes are pushed (after [`finish`](Self::finish): for good).
    ///
    /// # Errors
    /// [`SseError`] where the body breaks a bound or is not UTF-8, after the events that stand before the breach.
    pub fn next_event(&mut self) -> Result<Option<SseEvent<'_>>, SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.taken {
            self.clear_event();
        }
        let complete = match self.advance() {
            Err(error) => return Err(*self.failed.insert(error)),
            Ok(None) => {
                self.drop_consumed();
                return Ok(None);
            }
            Ok(Some(complete)) => complete,
        };
        self.taken = true;
        let data = match self.sole_data {
            None => self.data.as_str(),
            Some((from, to)) => match str::from_utf8(self.buffer.get(from..to).unwrap_or_default()) {
                Ok(data) => data,
                Err(_) => return Err(*self.failed.insert(SseError::InvalidUtf8)),
            },
        };
        Ok(Some(SseEvent { name: &self.name, data, id: &self.id, complete }))
    }

    /// Bytes of the body that the decoder holds now: those pushed and not yet dropped, and the event in progress.
    ///
    /// Once [`next_event`](Self::next_event) has answered `Ok(None)` they are at most [`SSE_BUFFERED_MAX_BYTES`],
    /// whatever was pushed; before that, what was pushed since comes on top. The allocations behind them are at most
    /// twice what was held at once.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len() + self.name.len() + self.data.len() + self.id.len()
    }

    /// The reconnection time that the stream last named, in milliseconds. Told, never acted on: a request for a
    /// completion must not be sent twice.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Reads lines until an event is whole (`Some(complete)`) or the bytes run out.
    fn advance(&mut self) -> Result<Option<bool>, SseError> {
        while let Some((from, to)) = self.next_line()? {
            let from = self.past_byte_order_mark(from, to);
            if self.is_whole_event(from, to) || self.read_line(from, to)? {
                return Ok(Some(true));
            }
        }
        if self.over_body_bound {
            return Err(SseError::BodyTooLong);
        }
        Ok((self.ended && self.has_data).then_some(false))
    }

    /// The range of the next line in the buffer, without its end. At the end of the body the rest is a line.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>, SseError> {
        self.drop_line_feed();
        let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
        let found = memchr2(b'\n', b'\r', fresh);
        let (from, to) = (self.start, found.map_or(self.buffer.len(), |at| self.scanned + at));
        self.scanned = to;
        if to - from > SSE_LINE_MAX_BYTES {
            return Err(SseError::LineTooLong);
        }
        if let Some(&end) = self.buffer.get(to) {
            self.end_line(to, end);
            return Ok(Some((from, to)));
        }
        if self.ended && from < to && !self.over_body_bound {
            self.start = to;
            // A body that was cut inside a character ends before it: that is a cut, and no other encoding.
            let rest = self.buffer.get(from..to).unwrap_or_default();
            let cut = str::from_utf8(rest).err().filter(|error| error.error_len().is_none());
            let to = cut.map_or(to, |error| from + error.valid_up_to());
            return Ok((from < to).then_some((from, to)));
        }
        Ok(None)
    }

    /// Consumes the line that ends with the byte `end` at `to`.
    fn end_line(&mut self, to: usize, end: u8) {
        // A CR ends its line at once; the LF of a CRLF is dropped when it comes, which may be a packet later.
        self.skip_line_feed = end == b'\r';
        self.start = to + 1;
        self.scanned = self.start;
    }

    /// Drops the second half of a CRLF.
    fn drop_line_feed(&mut self) {
        if self.skip_line_feed
            && let Some(&byte) = self.buffer.get(self.start)
        {
            self.skip_line_feed = false;
            if byte == b'\n' {
                self.start += 1;
                self.scanned = self.start;
            }
        }
    }

    /// Where the line begins behind the mark that may open a body.
    fn past_byte_order_mark(&mut self, from: usize, to: usize) -> usize {
        if self.past_first_line {
            return from;
        }
        self.past_first_line = true;
        let marked = self.buffer.get(from..to).is_some_and(|line| line.starts_with(BYTE_ORDER_MARK));
        if marked { from + BYTE_ORDER_MARK.len() } else { from }
    }

    /// Whether the line is all the data of an event whose end is in the buffer too; if so, that end is consumed.
    ///
    /// The data is then lent from where it stands. Whether it is UTF-8 is asked where it is lent.
    fn is_whole_event(&mut self, from: usize, to: usize) -> bool {
        let line = self.buffer.get(from..to).unwrap_or_default();
        let Some(value) = line.strip_prefix(b"data:").filter(|_| !self.has_data) else { return false };
        let value_bytes = value.strip_prefix(b" ").unwrap_or(value).len();
        self.drop_line_feed();
        match self.buffer.get(self.start) {
            Some(&end @ (b'\n' | b'\r')) => {
                self.end_line(self.start, end);
                self.sole_data = Some((to - value_bytes, to));
                true
            }
            _ => false,
        }
    }

    /// Takes one line into the event; true when it was the blank line that ends an event with data.
    fn read_line(&mut self, from: usize, to: usize) -> Result<bool, SseError> {
        let bytes = self.buffer.get(from..to).unwrap_or_default();
        let line = str::from_utf8(bytes).map_err(|_| SseError::InvalidUtf8)?;
        if line.is_empty() {
            if !self.has_data {
                self.name.clear();
            }
            return Ok(self.has_data);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                let joined = self.data.len() + usize::from(self.has_data) + value.len();
                if joined > SSE_EVENT_MAX_BYTES {
                    return Err(SseError::EventTooLarge);
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => {
                self.name.clear();
                self.name.push_str(value);
            }
            "id" if !value.contains('\0') => {
                self.id.clear();
                self.id.push_str(value);
            }
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            // A comment (empty field name) keeps the connection alive; the standard ignores unknown fields.
            _ => {}
        }
        Ok(false)
    }

    fn clear_event(&mut self) {
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        self.sole_data = None;
        self.taken = false;
    }

    /// Gives back the bytes before `start`.
    fn drop_consumed(&mut self) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
    }
}
