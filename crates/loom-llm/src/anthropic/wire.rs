//! The dialect's events as servers really send them: every field optional, and read only where it is needed.

use std::borrow::Cow;

use loom_effect_runtime::Usage;
use serde_json::value::RawValue;

use crate::dialect::{Fault, Field, count, is_error, lenient_object, object};

lenient_object! {
    /// One event of a stream.
    pub(super) struct Event<'a> {
        kind ("type"): &'a RawValue,
        pub(super) message ("message"): &'a RawValue,
        pub(super) index ("index"): &'a RawValue,
        pub(super) content_block ("content_block"): &'a RawValue,
        pub(super) delta ("delta"): &'a RawValue,
        pub(super) usage ("usage"): &'a RawValue,
        error ("error"): &'a RawValue,
    }

    /// A message, or what has changed of it: the body of a reply in one piece, `message` and `delta` of events.
    pub(super) struct MessageHead<'a> {
        kind ("type"): &'a RawValue,
        pub(super) id ("id"): &'a RawValue,
        pub(super) content ("content"): &'a RawValue,
        pub(super) stop_reason ("stop_reason"): &'a RawValue,
        pub(super) stop_details ("stop_details"): &'a RawValue,
        pub(super) usage ("usage"): &'a RawValue,
        error ("error"): &'a RawValue,
    }

    /// Why a message ended, beside the word.
    pub(super) struct StopDetails<'a> {
        pub(super) explanation ("explanation"): &'a RawValue,
    }

    /// What is added to a block.
    pub(super) struct Delta<'a> {
        kind ("type"): &'a RawValue,
        pub(super) text ("text"): &'a RawValue,
        pub(super) thinking ("thinking"): &'a RawValue,
        pub(super) signature ("signature"): &'a RawValue,
        pub(super) partial_json ("partial_json"): &'a RawValue,
        pub(super) citation ("citation"): &'a RawValue,
    }

    /// What is read of the beginning of a block.
    pub(super) struct BlockHead<'a> {
        kind ("type"): &'a RawValue,
        pub(super) id ("id"): &'a RawValue,
        pub(super) name ("name"): &'a RawValue,
        pub(super) text ("text"): &'a RawValue,
        pub(super) thinking ("thinking"): &'a RawValue,
        /// Never read as a JSON value.
        pub(super) input ("input"): &'a RawValue,
    }

    struct WireUsage<'a> {
        input_tokens ("input_tokens"): &'a RawValue,
        output_tokens ("output_tokens"): &'a RawValue,
    }
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
    /// Its content blocks; plain text is the only one. None where they are of another type.
    pub(super) fn content(&self) -> Option<Vec<&'a RawValue>> {
        let content = self.content?;
        if content.get().starts_with('"') {
            return Some(vec![content]);
        }
        serde_json::from_str(content.get()).ok()
    }

    /// Whether it says why it ended.
    pub(super) fn has_ended(&self) -> bool {
        word(self.stop_reason).is_some()
    }

    /// Whether it is an error in the place of a message.
    pub(super) fn is_error(&self) -> bool {
        is_error(self.error) || word(self.kind).is_some_and(|kind| kind == "error")
    }
}

impl<'a> BlockHead<'a> {
    /// Its type, where it tells one.
    pub(super) fn kind(&self) -> Option<Cow<'a, str>> {
        word(self.kind)
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
