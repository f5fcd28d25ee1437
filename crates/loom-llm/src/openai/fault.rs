//! Errors that come where a reply was expected, with status 200: the shapes differ, what they say does not.

use serde_json::value::RawValue;

use super::wire::{Bare, Choice, Envelope};
use crate::dialect::{
    Fault, NOT_THE_DIALECT, Told, document, is_error, list, object, parse, read_error, says_nothing, text,
};

/// Finish reasons by which a server says that it broke the reply off: what came is no whole reply.
const BROKEN_OFF: [&str; 4] = ["error", "abort", "network_error", "insufficient_system_resource"];

/// The error that the event is; none where it is a piece of a reply.
pub(super) fn reported(envelope: &Envelope<'_>, data: &str) -> Result<Option<Fault>, Fault> {
    if text(envelope.object)?.as_deref() == Some("error") || is_error(envelope.error) {
        return Ok(Some(Fault::reported(data)));
    }
    if envelope.choices.is_none() { bare(data) } else { Ok(None) }
}

/// The error that a choice ends in; none where it is a piece of a reply.
pub(super) fn of_choice(choice: &Choice<'_>) -> Option<Fault> {
    choice.error.filter(|error| is_error(Some(error))).map(|error| Fault::reported(error.get()))
}

/// The error that an event called `error` is, whatever its data.
pub(super) fn named(data: &str) -> Fault {
    read_error(data.as_bytes()).into()
}

/// What a list is that came instead of an object: Gemini wraps its errors so.
pub(super) fn listed(data: &str) -> Fault {
    match parse::<Vec<&RawValue>>(data).and_then(|list| first_error(&list)) {
        Ok(Some(error)) | Err(error) => error,
        Ok(None) => NOT_THE_DIALECT,
    }
}

fn first_error(list: &[&RawValue]) -> Result<Option<Fault>, Fault> {
    let Some(first) = list.first() else { return Ok(None) };
    let envelope: Envelope<'_> = object(Some(first))?.unwrap_or_default();
    Ok(is_error(envelope.error).then(|| Fault::reported(first.get())))
}

/// The error of a reply that the server broke off.
pub(super) fn broken_off() -> Fault {
    Told::default().into()
}

/// Whether the finish reason says so.
pub(super) fn breaks_off(reason: &str) -> bool {
    BROKEN_OFF.contains(&reason)
}

/// An error without a wrapper is told from an event about the reply by its words.
fn bare(data: &str) -> Result<Option<Fault>, Fault> {
    let body: Bare<'_> = document(data)?;
    let is_worded = body.message.is_some_and(|message| message.get().starts_with('"'));
    let is_classed = is_error(body.error_code)
        || is_error(body.error_type)
        || body.code.is_some_and(|code| is_class(code, ""))
        || [body.kind, body.status].into_iter().flatten().any(|class| is_class(class, "error"));
    if (is_worded && is_classed) || is_error(body.detail) || is_error(body.error_message) {
        return Ok(Some(Fault::reported(data)));
    }
    Ok(list(body.errors)?.first().map(|error| Fault::reported(error.get())))
}

/// Whether the class is one of errors, as events of other kinds have one too: a status of errors, or text that holds the
/// word.
fn is_class(class: &RawValue, word: &str) -> bool {
    let text = class.get().trim_matches('"');
    match text.parse::<i64>() {
        Ok(number) => !(0..400).contains(&number),
        Err(_) => !says_nothing(class) && text.to_ascii_lowercase().contains(word),
    }
}
