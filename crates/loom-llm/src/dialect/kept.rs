//! What a dialect keeps of a reply unread, to send it back.

use serde_json::Value;

use super::Fault;
use crate::error::{MalformedReply, TURN_MAX_BYTES};

/// What a part counts as beside its JSON, so that a great many small ones are bounded too.
const PART_BYTES: usize = 64;

/// Bytes of JSON kept so far. Text that is kept counts as text of the reply and not here.
#[derive(Debug, Default)]
pub(crate) struct KeptBytes(usize);

impl KeptBytes {
    /// Counts what is about to be kept.
    pub(crate) fn keep(&mut self, bytes: usize) -> Result<(), Fault> {
        self.0 = self.0.saturating_add(bytes).saturating_add(PART_BYTES);
        if self.0 > TURN_MAX_BYTES { Err(Fault::Malformed(MalformedReply::TurnTooLarge)) } else { Ok(()) }
    }

    /// Counts a value that has been read already.
    pub(crate) fn keep_value(&mut self, value: &Value) -> Result<(), Fault> {
        self.keep(weight(value))
    }
}

/// About the bytes of the value as it was written.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => 2 + values.iter().map(|value| 1 + weight(value)).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, value)| name.len() + 4 + weight(value)).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
