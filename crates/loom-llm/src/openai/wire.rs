//! The dialect's reply as providers really send it: every field optional, unknown ones ignored.

use loom_effect_runtime::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::{Maybe, value};

/// One event of a stream, or the whole body of a reply in one piece.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Envelope {
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Maybe<WireUsage>,
    pub(super) x_groq: Maybe<UsageHolder>,
    pub(super) error: Option<Value>,
    pub(super) object: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) index: Maybe<u32>,
    pub(super) delta: Option<Delta>,
    pub(super) message: Option<Delta>,
    pub(super) finish_reason: Maybe<String>,
    pub(super) usage: Maybe<WireUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Option<Content>,
    pub(super) reasoning_content: Maybe<String>,
    pub(super) reasoning: Maybe<String>,
    pub(super) reasoning_details: Maybe<Vec<Value>>,
    pub(super) refusal: Maybe<String>,
    pub(super) tool_calls: Option<Vec<ToolDelta>>,
    pub(super) function_call: Option<FunctionDelta>,
}

/// Content is text, or a list of parts of which some are reasoning (Mistral's reasoning models).
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Part {
    Bare(String),
    Typed(TypedPart),
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TypedPart {
    pub(super) r#type: Maybe<String>,
    pub(super) text: Maybe<String>,
    pub(super) thinking: Maybe<Content>,
    pub(super) refusal: Maybe<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ToolDelta {
    pub(super) index: Maybe<u64>,
    pub(super) id: Maybe<String>,
    pub(super) function: Option<FunctionDelta>,
    /// What Gemini wants back with the call, such as its thought signature.
    pub(super) extra_content: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Maybe<String>,
    /// Text, or an object where the server does not keep to the dialect: kept raw, as arguments are never rewritten.
    pub(super) arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct UsageHolder {
    pub(super) usage: Maybe<WireUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Maybe<u64>,
    completion_tokens: Maybe<u64>,
}

impl WireUsage {
    /// What it says.
    pub(super) fn said(self) -> Usage {
        Usage { input_tokens: value(self.prompt_tokens), output_tokens: value(self.completion_tokens) }
    }
}
