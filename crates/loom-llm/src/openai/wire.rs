//! The dialect's reply as providers really send it: every field optional, and read only where it is needed.

use loom_effect_runtime::Usage;
use serde_json::value::RawValue;

use super::loose::{One, Several};
use crate::dialect::{Fault, Field, count, lenient_object, object};

lenient_object! {
    /// One event of a stream, or the whole body of a reply in one piece.
    pub(super) struct Envelope<'a> {
        pub(super) choices ("choices"): Several<Choice<'a>>,
        pub(super) usage ("usage"): &'a RawValue,
        pub(super) x_groq ("x_groq"): &'a RawValue,
        pub(super) error ("error"): &'a RawValue,
        pub(super) object ("object"): &'a RawValue,
    }

    pub(super) struct Choice<'a> {
        pub(super) index ("index"): &'a RawValue,
        pub(super) delta ("delta"): One<Delta<'a>>,
        pub(super) message ("message"): One<Delta<'a>>,
        pub(super) finish_reason ("finish_reason"): &'a RawValue,
        pub(super) usage ("usage"): &'a RawValue,
        pub(super) error ("error"): &'a RawValue,
    }

    /// A piece of a message, or a whole one.
    pub(super) struct Delta<'a> {
        pub(super) content ("content"): &'a RawValue,
        pub(super) reasoning_content ("reasoning_content"): &'a RawValue,
        pub(super) reasoning ("reasoning"): &'a RawValue,
        pub(super) reasoning_details ("reasoning_details"): &'a RawValue,
        pub(super) refusal ("refusal"): &'a RawValue,
        pub(super) tool_calls ("tool_calls"): Several<ToolDelta<'a>>,
        pub(super) function_call ("function_call"): One<FunctionDelta<'a>>,
    }

    /// A part of content, of which some are reasoning (Mistral's reasoning models).
    pub(super) struct Part<'a> {
        pub(super) kind ("type"): &'a RawValue,
        pub(super) text ("text"): &'a RawValue,
        pub(super) thinking ("thinking"): &'a RawValue,
        pub(super) summary ("summary"): &'a RawValue,
        pub(super) content ("content"): &'a RawValue,
        pub(super) refusal ("refusal"): &'a RawValue,
    }

    pub(super) struct ToolDelta<'a> {
        pub(super) index ("index"): &'a RawValue,
        pub(super) id ("id"): &'a RawValue,
        pub(super) function ("function"): One<FunctionDelta<'a>>,
        /// What Gemini wants back with the call, such as its thought signature.
        pub(super) extra_content ("extra_content"): &'a RawValue,
    }

    pub(super) struct FunctionDelta<'a> {
        pub(super) name ("name"): &'a RawValue,
        /// Text, or an object where the server does not keep to the dialect.
        pub(super) arguments ("arguments"): &'a RawValue,
    }

    /// What an error without a wrapper may consist of.
    pub(super) struct Bare<'a> {
        pub(super) message ("message"): &'a RawValue,
        pub(super) code ("code"): &'a RawValue,
        pub(super) kind ("type"): &'a RawValue,
        pub(super) status ("status"): &'a RawValue,
        pub(super) error_code ("error_code"): &'a RawValue,
        pub(super) error_type ("error_type"): &'a RawValue,
        pub(super) error_message ("error_message"): &'a RawValue,
        pub(super) detail ("detail"): &'a RawValue,
        pub(super) errors ("errors"): &'a RawValue,
    }

    struct UsageHolder<'a> {
        usage ("usage"): &'a RawValue,
    }

    struct WireUsage<'a> {
        prompt_tokens ("prompt_tokens"): &'a RawValue,
        completion_tokens ("completion_tokens"): &'a RawValue,
    }
}

/// What the usage in the field says (spec row D3: absent where unknown).
pub(super) fn said(usage: Field<'_>) -> Result<Usage, Fault> {
    let usage: WireUsage<'_> = object(usage)?.unwrap_or_default();
    Ok(Usage { input_tokens: count(usage.prompt_tokens), output_tokens: count(usage.completion_tokens) })
}

/// The usage that Groq puts a level deeper.
pub(super) fn nested_usage(holder: Field<'_>) -> Result<Usage, Fault> {
    said(object::<UsageHolder<'_>>(holder)?.unwrap_or_default().usage)
}
