//! A request in the dialect's words.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::messages::{WireMessage, messages};
use crate::dialect::Unsendable;
use crate::request::{ChatRequest, MODEL_DEFAULT, ResponseFormat, ToolChoice, ToolSpec};

/// How servers differ in what they take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spelling {
    /// The bound on the reply is called `max_completion_tokens`.
    pub(super) max_completion_tokens: bool,
    /// `stream_options` is refused.
    pub(super) no_stream_options: bool,
}

/// Names that a request has fields for, and other names of the same: in `extra` they would go past whatever judged
/// those fields.
pub(super) const OWN_NAMES: [&str; 13] = [
    "function_call",
    "functions",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "models",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
];

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'a ResponseFormat>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The body of a request. Here fenced content leaves its fence, on its way to the model and nowhere else.
pub(super) fn body(request: &ChatRequest, streamed: bool, spelling: Spelling) -> Result<Vec<u8>, Unsendable> {
    let collides = |name: &String| {
        OWN_NAMES.contains(&name.as_str()) || (name == "response_format" && request.response_format.is_some())
    };
    if request.extra.keys().any(collides) {
        return Err(Unsendable);
    }
    let new_name = spelling.max_completion_tokens;
    let wire = WireRequest {
        model: request.model.as_deref().unwrap_or(MODEL_DEFAULT),
        messages: messages(&request.messages)?,
        max_tokens: request.max_tokens.filter(|_| !new_name),
        max_completion_tokens: request.max_tokens.filter(|_| new_name),
        temperature: request.temperature,
        stop: &request.stop,
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: request.tool_choice.as_ref().map(choice),
        response_format: request.response_format.as_ref(),
        stream: streamed,
        stream_options: (streamed && !spelling.no_stream_options)
            .then_some(StreamOptions { include_usage: true }),
        extra: &request.extra,
    };
    Ok(serde_json::to_vec(&wire)?)
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    let ToolSpec { name, description, parameters } = spec;
    WireTool { r#type: "function", function: WireFunction { name, description, parameters } }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
    }
}
