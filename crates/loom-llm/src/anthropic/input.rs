//! What a block begins with in the place of a tool's input.

use serde_json::value::RawValue;

use crate::dialect::{Fault, Field, text};

/// The input that a block began with.
#[derive(Debug, Default)]
pub(super) enum Input {
    /// None: it is still to come, or there is none.
    #[default]
    Nothing,
    /// An object, as it was written.
    Written(String),
    /// What no call can be made of, unless parts follow that take its place.
    Unreadable,
}

impl Input {
    /// What stands in the field. Servers write the object as text, too, and the lack of one in more than one way: an
    /// empty object, an empty list, empty text.
    pub(super) fn of(field: Field<'_>) -> Result<Self, Fault> {
        let Some(raw) = field.map(RawValue::get) else { return Ok(Self::Nothing) };
        let quoted = text(field)?;
        let written = quoted.as_deref().unwrap_or(raw);
        let is_object =
            || serde_json::from_str::<&RawValue>(written).is_ok_and(|value| value.get().starts_with('{'));
        Ok(if written.trim().is_empty() || is_empty(written, '{', '}') || is_empty(raw, '[', ']') {
            Self::Nothing
        } else if is_object() {
            Self::Written(written.to_owned())
        } else {
            Self::Unreadable
        })
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

fn is_empty(written: &str, open: char, close: char) -> bool {
    let inner = written.trim().strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    inner.is_some_and(|inner| inner.trim().is_empty())
}
