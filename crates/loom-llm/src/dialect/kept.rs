//! What a dialect keeps of a reply unread, to send it back.

use serde_json::Value;

use super::{Fault, Field, values_in};
use crate::error::{MalformedReply, TURN_VALUES_MAX};

/// What a part counts as beside its values, for the bookkeeping that it takes.
const PART_VALUES: usize = 4;

/// JSON values kept so far. Their text is no more than the body's, which has a bound of its own: a picture is one value.
#[derive(Debug, Default)]
pub(crate) struct KeptValues(usize);

impl KeptValues {
    /// Counts a part that is about to be kept.
    pub(crate) fn keep(&mut self, part: Field<'_>) -> Result<(), Fault> {
        self.count(part.map_or(0, |part| values_in(part.get())))
    }

    /// Counts a part that has been read already.
    pub(crate) fn keep_value(&mut self, part: &Value) -> Result<(), Fault> {
        self.count(values_of(part))
    }

    fn count(&mut self, values: usize) -> Result<(), Fault> {
        self.0 = self.0.saturating_add(values).saturating_add(PART_VALUES);
        if self.0 > TURN_VALUES_MAX { Err(Fault::Malformed(MalformedReply::TurnTooLarge)) } else { Ok(()) }
    }
}

fn values_of(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(values_of).sum(),
        Value::Object(fields) => fields.values().map(values_of).sum(),
        _ => 0,
    }
}
