//! Errors that come where a reply was expected, with status 200: the shapes differ, what they say does not.

use serde_json::Value;

use super::wire::Envelope;
use crate::dialect::{Fault, parse, read_error, told};
use crate::error::{MalformedReply, Remedy};

/// Finish reasons by which a server says that it broke the reply off: what came is no whole reply.
const BROKEN_OFF: [&str; 4] = ["error", "abort", "network_error", "insufficient_system_resource"];

/// The error that the event is; none where it is a piece of a reply.
pub(super) fn reported(envelope: &Envelope, data: &str) -> Option<Fault> {
    let named = envelope.object.as_ref().and_then(Value::as_str);
    if named == Some("error") || says(envelope.error.as_ref()) {
        return Some(Fault::reported(data));
    }
    match &envelope.choices {
        Some(choices) => {
            choices.iter().find_map(|choice| choice.error.as_ref().filter(|error| says(Some(error)))).map(of)
        }
        None => serde_json::from_str(data).ok().and_then(|body: Value| bare(&body)),
    }
}

/// The error that an event called `error` is, whatever its data.
pub(super) fn named(data: &str) -> Fault {
    let told = read_error(data.as_bytes());
    Fault::Reported { remedy: told.remedy.unwrap_or(Remedy::Retry), message: told.message }
}

/// What a list is that came instead of an object: Gemini wraps its errors so.
pub(super) fn listed(data: &str) -> Fault {
    match parse::<Vec<Value>>(data) {
        Err(fault) => fault,
        Ok(list) => match list.first().filter(|first| says(first.get("error"))) {
            Some(error) => of(error),
            None => Fault::Malformed(MalformedReply::NotTheDialect),
        },
    }
}

/// The error of a reply that the server broke off.
pub(super) fn broken_off() -> Fault {
    Fault::Reported { remedy: Remedy::Retry, message: None }
}

/// Whether the finish reason says so.
pub(super) fn breaks_off(reason: &str) -> bool {
    BROKEN_OFF.contains(&reason)
}

/// An error without a wrapper is told from an event about the reply by its words.
fn bare(body: &Value) -> Option<Fault> {
    let has = |name: &str| body.get(name).is_some_and(|field| !field.is_null());
    let worded = body.get("message").is_some_and(Value::is_string);
    let classed = ["code", "type", "status", "error_code", "error_type"].iter().any(|name| has(name));
    if (worded && classed) || has("detail") || has("error_message") {
        return Some(of(body));
    }
    body.get("errors").and_then(|errors| errors.get(0)).map(of)
}

fn of(error: &Value) -> Fault {
    let told = told(error);
    Fault::Reported { remedy: told.remedy.unwrap_or(Remedy::Retry), message: told.message }
}

/// Some servers send the field with every event, empty where there is no error.
fn says(error: Option<&Value>) -> bool {
    !matches!(error, None | Some(Value::Null | Value::Bool(false)))
        && error.and_then(Value::as_str) != Some("")
}
