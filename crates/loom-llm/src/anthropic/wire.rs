//! The dialect's events as servers really send them: every field optional, and read only where it is needed.

use std::borrow::Cow;

use loom_effect_runtime::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dialect::{Fault, Field, count, is_error, object};

/// One event of a stream.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow)]
    pub(super) content_block: Field<'a>,
    #[serde(borrow)]
    pub(super) delta: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
}

/// A message, or what has changed of it: the body of a reply in one piece, `message` and `delta` of events.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct MessageHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    content: Field<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Field<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
}

/// Why a message ended, beside the word.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow)]
    pub(super) explanation: Field<'a>,
}

/// What is added to a block.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) thinking: Field<'a>,
    #[serde(borrow)]
    pub(super) signature: Field<'a>,
    #[serde(borrow)]
    pub(super) partial_json: Field<'a>,
    #[serde(borrow)]
    pub(super) citation: Field<'a>,
}

/// The part of a block that is never read as a JSON value.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ToolInput<'a> {
    #[serde(borrow)]
    pub(super) input: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireUsage<'a> {
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
}

impl<'a> Event<'a> {
    /// Its type: its own word, else the name of the event, else what its fields tell.
    pub(super) fn kind(&self, name: &'a str) -> Cow<'a, str> {
        let named = || (!matches!(name, "" | "message")).then_some(Cow::Borrowed(name));
        word(self.kind).or_else(named).unwrap_or_else(|| {
            Cow::Borrowed(match (self.message, self.content_block, self.delta) {
                (Some(_), ..) => "message_start",
                (_, Some(_), _) => "content_block_start",
                (.., Some(_)) if self.index.is_some() => "content_block_delta",
                (.., Some(_)) => "message_delta",
                _ => "",
            })
        })
    }

    /// Whether it reports an error, whatever its type.
    pub(super) fn is_error(&self) -> bool {
        is_error(self.error)
    }
}

impl<'a> MessageHead<'a> {
    /// Its content blocks; none where they are no list.
    pub(super) fn content(&self) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.content?.get()).ok()
    }

    /// Whether it is an error in the place of a message.
    pub(super) fn is_error(&self) -> bool {
        is_error(self.error) || word(self.kind).is_some_and(|kind| kind == "error")
    }
}

impl<'a> Delta<'a> {
    /// Its type: its own word, else what its fields tell.
    pub(super) fn kind(&self) -> Cow<'a, str> {
        let told = match (self.text, self.thinking, self.partial_json, self.signature) {
            (Some(_), ..) => "text_delta",
            (_, Some(_), ..) => "thinking_delta",
            (_, _, Some(_), _) => "input_json_delta",
            (.., Some(_)) => "signature_delta",
            _ => "",
        };
        word(self.kind).unwrap_or(Cow::Borrowed(told))
    }
}

/// What the usage in the field says (spec row D3: absent where unknown).
pub(super) fn said(usage: Field<'_>) -> Result<Usage, Fault> {
    let usage: WireUsage<'_> = object(usage)?.unwrap_or_default();
    Ok(Usage { input_tokens: count(usage.input_tokens), output_tokens: count(usage.output_tokens) })
}

/// A short word without escapes is lent.
fn word(field: Field<'_>) -> Option<Cow<'_, str>> {
    let raw = field?.get();
    let lent = serde_json::from_str::<&str>(raw).ok().map(Cow::Borrowed);
    lent.or_else(|| serde_json::from_str(raw).ok().map(Cow::Owned)).filter(|word| !word.is_empty())
}
