//! The arguments of a call, as they go back to a model.

use std::borrow::Cow;

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::Unsendable;

/// The field that holds arguments which are no object.
const UNREADABLE: &str = "unreadable_arguments";

/// Arguments as the object that some APIs demand. None (no text, white space or `null`) are an empty one. Of anything
/// else no tool has made a call, and the model is to see what it wrote: it is the text in a field of its own.
pub(crate) fn sent_arguments(arguments: &str) -> Result<Cow<'_, RawValue>, Unsendable> {
    match object_of(arguments) {
        Some(object) => Ok(Cow::Borrowed(object)),
        None => Ok(Cow::Owned(to_raw_value(&json!({ UNREADABLE: arguments }))?)),
    }
}

/// The object that the arguments are; `None` where they are something else.
pub(crate) fn object_of(arguments: &str) -> Option<&RawValue> {
    let none = matches!(arguments.trim(), "" | "null");
    let raw: &RawValue = serde_json::from_str(if none { "{}" } else { arguments }).ok()?;
    raw.get().starts_with('{').then_some(raw)
}
