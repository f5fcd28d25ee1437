//! The stored form of a record, and the checks that stand between bytes and values.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Draft, EVENT_SCHEMA_VERSION, Event, EventKind, Fingerprint, Record, StepPath};
use crate::store::StoreError;

/// The most bytes of JSON one event may take; more is refused with [`StoreError::TooLarge`].
pub const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most levels of JSON nesting in a payload: a value's 128 and the two that an event adds around it.
pub const PAYLOAD_DEPTH_MAX: usize = 130;

/// The most bytes in one text of a fingerprint.
pub const HEADER_TEXT_BYTES_MAX: usize = 1024;

/// What is wrong with a stored record; it never repeats what the record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// The sequence has a hole or a second record here.
    #[error("the record is missing")]
    Missing,
    /// The bytes are not those that were written.
    #[error("its checksum is {got:#010x}, expected {expected:#010x}")]
    Checksum {
        /// The checksum that was stored.
        expected: u32,
        /// The checksum of what is there now.
        got: u32,
    },
    /// A newer version of the event list wrote it.
    #[error("it has event schema version {got}, expected at most {EVENT_SCHEMA_VERSION}; use a newer loom")]
    Version {
        /// The version it says.
        got: u32,
    },
    /// Its kind is not in the catalogue.
    #[error("its kind is unknown to this version")]
    Kind,
    /// Its payload does not fit its kind.
    #[error("its payload does not fit its kind")]
    Payload,
    /// Its path is no step path.
    #[error("its step path is malformed")]
    Path,
    /// The database gave another type of value than the layout says, or the page is damaged.
    #[error("the storage layout is damaged")]
    Layout,
}

/// A record as stores keep it: columns, not values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawRecord {
    /// The version of the event list that wrote it.
    pub version: u32,
    /// Its place in the execution, from 1.
    pub seq: u64,
    /// Unix milliseconds, told.
    pub at_ms: u64,
    /// The kind's stable text.
    pub kind: Cow<'static, str>,
    /// The step path's text.
    pub path: Option<Arc<str>>,
    /// What the code looked like.
    pub fingerprint: Option<Fingerprint>,
    /// The event's fields as JSON.
    pub payload: String,
    /// CRC-32C over all other fields.
    pub crc32c: u32,
}

impl RawRecord {
    /// Puts the stored columns together; [`decode`](Self::decode) judges them.
    #[expect(clippy::too_many_arguments, reason = "one a column, in the order of the fields")]
    pub fn from_columns(
        version: u32,
        seq: u64,
        at_ms: u64,
        kind: String,
        path: Option<String>,
        fingerprint: Option<Fingerprint>,
        payload: String,
        crc32c: u32,
    ) -> Self {
        Self {
            version,
            seq,
            at_ms,
            kind: kind.into(),
            path: path.map(Arc::from),
            fingerprint,
            payload,
            crc32c,
        }
    }

    /// Encodes a draft for a place in the journal.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] or [`StoreError::TooDeep`] when a bound of this module is passed,
    /// [`StoreError::Malformed`] when the event has no JSON form.
    pub fn encode(seq: u64, draft: &Draft) -> Result<Self, StoreError> {
        let payload = draft
            .event
            .to_json()
            .map_err(|_| StoreError::Malformed { what: "an event without a JSON form" })?;
        within("payload", payload.len(), PAYLOAD_BYTES_MAX)?;
        if depth(payload.as_bytes()) > PAYLOAD_DEPTH_MAX {
            return Err(StoreError::TooDeep { depth_max: PAYLOAD_DEPTH_MAX });
        }
        if let Some(print) = &draft.fingerprint {
            for text in [&print.effect, &print.input_schema_hash, &print.revision] {
                within("fingerprint text", text.len(), HEADER_TEXT_BYTES_MAX)?;
            }
        }
        let mut raw = Self {
            version: EVENT_SCHEMA_VERSION,
            seq,
            at_ms: draft.at_ms,
            kind: Cow::Borrowed(draft.event.kind().as_str()),
            path: draft.path.as_ref().map(StepPath::shared),
            fingerprint: draft.fingerprint.clone(),
            payload,
            crc32c: 0,
        };
        raw.crc32c = raw.checksum();
        Ok(raw)
    }

    /// Checks the columns and reads the event.
    ///
    /// # Errors
    /// [`RecordFault`]: the checksum is compared before anything is parsed.
    pub fn decode(self) -> Result<Record, RecordFault> {
        let got = self.checksum();
        if got != self.crc32c {
            return Err(RecordFault::Checksum { expected: self.crc32c, got });
        }
        if self.version > EVENT_SCHEMA_VERSION {
            return Err(RecordFault::Version { got: self.version });
        }
        let kind = EventKind::from_text(&self.kind).ok_or(RecordFault::Kind)?;
        // The parser recurses and its own limit is off: this bound keeps it from running out of stack.
        if depth(self.payload.as_bytes()) > PAYLOAD_DEPTH_MAX {
            return Err(RecordFault::Payload);
        }
        let event = Event::from_json(kind, &self.payload)?;
        let path = self.path.map(StepPath::new).transpose().map_err(|_| RecordFault::Path)?;
        let Self { seq, at_ms, fingerprint, crc32c, .. } = self;
        Ok(Record { seq, at_ms, event, path, fingerprint, crc32c })
    }

    /// The bytes it counts for in bounds: its texts and 64 for its numbers.
    pub fn bytes(&self) -> u64 {
        let print = self
            .fingerprint
            .as_ref()
            .map_or(0, |print| print.effect.len() + print.input_schema_hash.len() + print.revision.len());
        let texts =
            self.kind.len() + self.path.as_ref().map_or(0, |path| path.len()) + print + self.payload.len();
        texts as u64 + 64
    }

    fn checksum(&self) -> u32 {
        let mut sum = crc32c::crc32c(&self.version.to_le_bytes());
        sum = crc32c::crc32c_append(sum, &self.seq.to_le_bytes());
        sum = crc32c::crc32c_append(sum, &self.at_ms.to_le_bytes());
        let print = self.fingerprint.as_ref();
        let texts = [
            Some(&*self.kind),
            self.path.as_deref(),
            print.map(|print| &*print.effect),
            print.map(|print| &*print.input_schema_hash),
            print.map(|print| &*print.revision),
            Some(&*self.payload),
        ];
        for text in texts {
            // A length before each text, and none apart from empty, so that no two records read alike.
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            sum = crc32c::crc32c_append(sum, &length.to_le_bytes());
            sum = crc32c::crc32c_append(sum, text.unwrap_or("").as_bytes());
        }
        sum
    }
}

fn within(what: &'static str, bytes: usize, bytes_max: usize) -> Result<(), StoreError> {
    if bytes <= bytes_max { Ok(()) } else { Err(StoreError::TooLarge { what, bytes, bytes_max }) }
}

/// The deepest nesting of arrays and objects in a JSON text, without recursion.
fn depth(json: &[u8]) -> usize {
    let (mut now, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' if !in_text => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
