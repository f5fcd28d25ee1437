//! Data that a journal keeps, and the texts in it.

use loom_effect_runtime::Data;
use serde::Serialize;
use serde_json::Value;

use crate::kit::report::{Check, Report};

/// The shortest text of an input that no error may quote.
const QUOTED_CHARS: usize = 8;

/// The value comes back equal from its JSON form.
pub(super) fn comes_back<T: Data>(report: &mut Report, value: &T, what: &str) {
    report.checked(Check::RoundTrip);
    let Ok(once) = serde_json::to_value(value) else {
        report.fault(Check::RoundTrip, format!("the {what} has no JSON form"));
        return;
    };
    let twice = serde_json::from_value::<T>(once.clone()).ok().map(serde_json::to_value);
    let told = match twice {
        Some(Ok(twice)) if twice == once => return,
        Some(_) => "comes back changed from its JSON form",
        None => "cannot be read from its own JSON form",
    };
    report.fault(Check::RoundTrip, format!("the {what} {told}"));
}

/// The texts of the input that are long enough to be known again.
pub(super) fn texts(input: &impl Serialize) -> Vec<String> {
    let mut found = Vec::new();
    collect(&serde_json::to_value(input).unwrap_or_default(), &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.chars().count() >= QUOTED_CHARS => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
        _ => {}
    }
}
