//! The dialect's reply as providers really send it: every field optional, unknown ones ignored.

use loom_effect_runtime::Usage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::error::{Remedy, status_remedy};
use crate::http::Told;

/// A field that some providers fill with another type: then it counts as absent.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Lenient<T> {
    Is(T),
    Other(IgnoredAny),
}

pub(super) type Maybe<T> = Option<Lenient<T>>;

/// The value, where there is one of the expected type.
pub(super) fn value<T>(field: Maybe<T>) -> Option<T> {
    match field? {
        Lenient::Is(value) => Some(value),
        Lenient::Other(_) => None,
    }
}

/// One event of a stream, or the whole body of a reply in one piece.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct Envelope {
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Maybe<WireUsage>,
    pub(super) x_groq: Maybe<UsageHolder>,
    pub(super) error: Option<Value>,
    pub(super) object: Maybe<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) index: Maybe<u32>,
    pub(super) delta: Option<Delta>,
    pub(super) message: Option<Delta>,
    pub(super) finish_reason: Maybe<String>,
    pub(super) usage: Maybe<WireUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Option<Content>,
    pub(super) reasoning_content: Maybe<String>,
    pub(super) reasoning: Maybe<String>,
    pub(super) refusal: Maybe<String>,
    pub(super) tool_calls: Option<Vec<ToolDelta>>,
}

/// Content is text, or a list of parts of which some are reasoning (Mistral's reasoning models).
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Part {
    pub(super) text: Maybe<String>,
    pub(super) thinking: Maybe<Content>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ToolDelta {
    pub(super) index: Maybe<u64>,
    pub(super) id: Maybe<String>,
    pub(super) function: Option<FunctionDelta>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Maybe<String>,
    /// Text of another type is no dialect of ours: arguments are never rewritten.
    pub(super) arguments: Option<String>,
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
    /// What it says, unless it says nothing.
    pub(super) fn said(self) -> Option<Usage> {
        let usage =
            Usage { input_tokens: value(self.prompt_tokens), output_tokens: value(self.completion_tokens) };
        (usage != Usage::default()).then_some(usage)
    }
}

/// Reads the body of an error reply; what is not JSON is the message itself.
pub(super) fn read_error(body: &[u8]) -> Told {
    match serde_json::from_slice::<Value>(body) {
        Ok(body) => told(body.get(0).unwrap_or(&body)),
        Err(_) => {
            let text = String::from_utf8_lossy(body).trim().to_owned();
            Told { message: (!text.is_empty()).then_some(text), remedy: None }
        }
    }
}

/// Reads an error object, wrapped in `error` or bare.
pub(super) fn told(body: &Value) -> Told {
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let message = error.as_str().or_else(|| text("message")).or_else(|| text("detail")).map(str::to_owned);
    let status = ["status", "code"].iter().find_map(|name| status_in(error.get(*name)?));
    let words = ["code", "type", "status"].iter().filter_map(|name| text(name)).collect::<Vec<_>>();
    Told { message, remedy: named_remedy(&words).or_else(|| status.map(status_remedy)) }
}

fn status_in(field: &Value) -> Option<u16> {
    let number = field.as_u64().or_else(|| field.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..=599).contains(status))
}

/// What the names of errors let the caller do; the account's state first, as providers send it with status 429 too.
fn named_remedy(words: &[&str]) -> Option<Remedy> {
    const NAMES: [(Remedy, &[&str]); 3] = [
        (
            Remedy::GiveUp,
            &["insufficient_quota", "billing", "authentication", "permission", "invalid_api_key"],
        ),
        (Remedy::Retry, &["rate_limit", "overloaded", "server_error", "unavailable", "timeout", "exhausted"]),
        (Remedy::FixRequest, &["invalid_request", "context_length", "not_found", "invalid_argument"]),
    ];
    let matches = |names: &[&str]| {
        words.iter().any(|word| names.iter().any(|name| word.to_ascii_lowercase().contains(name)))
    };
    NAMES.iter().find(|(_, names)| matches(names)).map(|(remedy, _)| *remedy)
}
