//! Fields as providers really fill them.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A field that some providers fill with another type: then it counts as absent.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Lenient<T> {
    Is(T),
    Other(IgnoredAny),
}

pub(crate) type Maybe<T> = Option<Lenient<T>>;

/// The value, where there is one of the expected type.
pub(crate) fn value<T>(field: Maybe<T>) -> Option<T> {
    match field? {
        Lenient::Is(value) => Some(value),
        Lenient::Other(_) => None,
    }
}

/// The text, where there is any.
pub(crate) fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
