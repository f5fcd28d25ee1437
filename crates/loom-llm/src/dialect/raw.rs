//! Fields kept as they were written, so that arguments are the provider's bytes and a field of another type counts as
//! absent without being copied.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Fault, parse};
use crate::error::MalformedReply;

/// A field as it was written; `null` is an absent one.
pub(crate) type Field<'a> = Option<&'a RawValue>;

/// The fault of what is not the dialect.
pub(crate) const NOT_THE_DIALECT: Fault = Fault::Malformed(MalformedReply::NotTheDialect);

/// Reads a whole document, which is an object.
pub(crate) fn document<'d, T: Deserialize<'d>>(data: &'d str) -> Result<T, Fault> {
    if data.trim_start().starts_with('{') { parse(data) } else { Err(NOT_THE_DIALECT) }
}

/// Reads what was written.
pub(crate) fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Fault> {
    serde_json::from_str(raw.get()).map_err(|_| NOT_THE_DIALECT)
}

/// The object in the field, where there is one.
pub(crate) fn object<'a, T: Deserialize<'a>>(field: Field<'a>) -> Result<Option<T>, Fault> {
    field.filter(|raw| raw.get().starts_with('{')).map(read).transpose()
}

/// The elements of the list in the field; none where it is no list.
pub(crate) fn list<'a>(field: Field<'a>) -> Result<Vec<&'a RawValue>, Fault> {
    field.filter(|raw| raw.get().starts_with('[')).map_or(Ok(Vec::new()), read)
}

/// The text in the field, where there is any. Text that is no Unicode (half a surrogate pair) is a fault: as an absent
/// field it would be lost in silence.
pub(crate) fn text(field: Field<'_>) -> Result<Option<String>, Fault> {
    field.filter(|raw| raw.get().starts_with('"')).map(read).transpose()
}

/// The number in the field, where there is one that fits.
pub(crate) fn count<'a, T: Deserialize<'a>>(field: Field<'a>) -> Option<T> {
    serde_json::from_str(field?.get()).ok()
}

/// About how many JSON values there are in the text, counted without reading it: one, and one more for each mark that
/// opens a list or an object or parts two values.
pub(crate) fn values_in(json: &str) -> usize {
    let (mut values, mut in_text, mut escaped) = (1_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values
}

/// Whether the field holds an error. Some servers send it with every event, empty where there is none.
pub(crate) fn is_error(field: Field<'_>) -> bool {
    field.is_some_and(|field| !says_nothing(field))
}

/// Whether it is an empty value of its type.
pub(crate) fn says_nothing(raw: &RawValue) -> bool {
    let raw = raw.get();
    let inside = |open, close| raw.strip_prefix(open).and_then(|raw: &str| raw.strip_suffix(close));
    matches!(raw, "null" | "false" | "0" | "\"\"")
        || inside('[', ']').or_else(|| inside('{', '}')).is_some_and(|inner| inner.trim().is_empty())
}
