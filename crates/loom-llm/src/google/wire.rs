//! The dialect's objects as servers really send them: every field optional, and read only where it is needed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use loom_effect_runtime::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dialect::{Fault, Field, NOT_THE_DIALECT, count, is_error, lenient_object, object};

lenient_object! {
    /// One object of a stream, or a reply in one piece.
    pub(super) struct Chunk<'a> {
        pub(super) candidates ("candidates"): &'a RawValue,
        pub(super) prompt_feedback ("promptFeedback"): &'a RawValue,
        pub(super) usage_metadata ("usageMetadata"): &'a RawValue,
        error ("error"): &'a RawValue,
    }

    /// One of the parallel answers.
    pub(super) struct Candidate<'a> {
        pub(super) index ("index"): &'a RawValue,
        pub(super) content ("content"): &'a RawValue,
        pub(super) finish_reason ("finishReason"): &'a RawValue,
        pub(super) finish_message ("finishMessage"): &'a RawValue,
    }

    pub(super) struct Content<'a> {
        pub(super) parts ("parts"): &'a RawValue,
    }

    /// What the provider says of the request.
    pub(super) struct PromptFeedback<'a> {
        pub(super) block_reason ("blockReason"): &'a RawValue,
        pub(super) block_reason_message ("blockReasonMessage"): &'a RawValue,
    }

    /// What is read of any other part.
    pub(super) struct Part<'a> {
        pub(super) text ("text"): &'a RawValue,
        thought ("thought"): &'a RawValue,
        pub(super) function_call ("functionCall"): &'a RawValue,
    }

    /// A tool call, or a further piece of one.
    pub(super) struct FunctionCall<'a> {
        pub(super) id ("id"): &'a RawValue,
        pub(super) name ("name"): &'a RawValue,
        pub(super) args ("args"): &'a RawValue,
        pub(super) partial_args ("partialArgs"): &'a RawValue,
        will_continue ("willContinue"): &'a RawValue,
    }

    /// A value among the arguments, or a further piece of one.
    pub(super) struct PartialArg<'a> {
        pub(super) json_path ("jsonPath"): &'a RawValue,
        pub(super) string_value ("stringValue"): &'a RawValue,
        pub(super) number_value ("numberValue"): &'a RawValue,
        pub(super) bool_value ("boolValue"): &'a RawValue,
        pub(super) null_value ("nullValue"): &'a RawValue,
        will_continue ("willContinue"): &'a RawValue,
    }

    struct UsageMetadata<'a> {
        prompt_token_count ("promptTokenCount"): &'a RawValue,
        candidates_token_count ("candidatesTokenCount"): &'a RawValue,
    }
}

/// A part of nothing but text, which nearly all are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainText<'a> {
    #[serde(borrow)]
    pub(super) text: Cow<'a, str>,
    #[serde(default)]
    pub(super) thought: Option<bool>,
}

impl Chunk<'_> {
    /// Whether it reports an error in the place of an answer.
    pub(super) fn is_error(&self) -> bool {
        is_error(self.error)
    }
}

impl Part<'_> {
    pub(super) fn is_thought(&self) -> bool {
        is_true(self.thought)
    }
}

impl FunctionCall<'_> {
    /// Whether further pieces of the call follow.
    pub(super) fn will_continue(&self) -> bool {
        is_true(self.will_continue)
    }
}

impl<'a> PartialArg<'a> {
    /// The piece that was written.
    pub(super) fn of(raw: &'a RawValue) -> Result<Self, Fault> {
        let mut piece: Self = object(Some(raw))?.ok_or(NOT_THE_DIALECT)?;
        let values = [piece.string_value, piece.number_value, piece.bool_value, piece.null_value];
        if values.iter().all(Option::is_none) {
            // The JSON form of protocol buffers writes it as `null`, so that its presence is its value.
            piece.null_value = fields(Some(raw))?.get("nullValue").copied();
        }
        Ok(piece)
    }

    /// Whether further pieces of the value follow.
    pub(super) fn will_continue(&self) -> bool {
        is_true(self.will_continue)
    }
}

/// What the usage in the field says (spec row D3: absent where unknown).
pub(super) fn said(usage: Field<'_>) -> Result<Usage, Fault> {
    let usage: UsageMetadata<'_> = object(usage)?.unwrap_or_default();
    Ok(Usage {
        input_tokens: count(usage.prompt_token_count),
        output_tokens: count(usage.candidates_token_count),
    })
}

/// The fields of an object, each as it was written.
pub(super) fn fields<'a>(field: Field<'a>) -> Result<BTreeMap<String, &'a RawValue>, Fault> {
    Ok(object(field)?.unwrap_or_default())
}

fn is_true(field: Field<'_>) -> bool {
    field.is_some_and(|raw| raw.get() == "true")
}
