//! A request in the dialect's words.

use serde::Serialize;
use serde_json::{Map, Value};

use super::messages::{Conversation, WireBlock, WireTurn};
use crate::dialect::Unsendable;
use crate::request::{ChatRequest, MODEL_DEFAULT, ResponseFormat, ToolChoice, ToolSpec};

/// The most tokens that a reply may have where the request does not say: the API takes no request without a bound.
pub const MAX_TOKENS_DEFAULT: u32 = 4096;

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    messages: Vec<WireTurn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<WireBlock<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    stream: bool,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum WireToolChoice<'a> {
    Auto,
    None,
    Any,
    Tool { name: &'a str },
}

/// The form of the reply, and what else the provider takes in its place (how much effort it makes, say).
#[derive(Serialize)]
struct OutputConfig<'a> {
    format: WireFormat<'a>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireFormat<'a> {
    JsonSchema { schema: &'a Value },
}

/// The body of a request. Here fenced content leaves its fence, on its way to the model and nowhere else.
pub(super) fn body(request: &ChatRequest, streamed: bool) -> Result<Vec<u8>, Unsendable> {
    let mut extra = own_words(request)?;
    let Conversation { system, turns } = Conversation::of(&request.messages)?;
    let output_config = output_config(request, &mut extra)?;
    Ok(serde_json::to_vec(&WireRequest {
        model: request.model.as_deref().unwrap_or(MODEL_DEFAULT),
        max_tokens: request.max_tokens.unwrap_or(MAX_TOKENS_DEFAULT),
        messages: turns,
        system,
        temperature: request.temperature,
        stop_sequences: &request.stop,
        tools: request.tools.iter().map(tool).collect::<Result<_, _>>()?,
        tool_choice: request.tool_choice.as_ref().map(tool_choice).transpose()?,
        output_config,
        stream: streamed,
        extra,
    })?)
}

/// Names that a request has fields for: in `extra` they would go past whatever judged those fields.
const OWN_NAMES: [&str; 9] = [
    "max_tokens",
    "messages",
    "model",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "tool_choice",
    "tools",
];

/// An older place of the form, which would be a second one.
const FORMAT_ALONE: &str = "output_format";

fn own_words(request: &ChatRequest) -> Result<Map<String, Value>, Unsendable> {
    let collides = |name: &String| OWN_NAMES.contains(&name.as_str());
    if request.extra.keys().any(collides) { Err(Unsendable) } else { Ok(request.extra.clone()) }
}

/// The form of the reply beside what else the field holds, which the request may give in `extra`.
fn output_config<'a>(
    request: &'a ChatRequest,
    extra: &mut Map<String, Value>,
) -> Result<Option<OutputConfig<'a>>, Unsendable> {
    let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format else { return Ok(None) };
    if extra.contains_key(FORMAT_ALONE) {
        return Err(Unsendable);
    }
    let beside = match extra.remove("output_config") {
        None => Map::new(),
        Some(Value::Object(beside)) if !beside.contains_key("format") => beside,
        Some(_) => return Err(Unsendable),
    };
    let format = WireFormat::JsonSchema { schema: &json_schema.schema };
    Ok(Some(OutputConfig { format, extra: beside }))
}

fn tool(tool: &ToolSpec) -> Result<WireTool<'_>, Unsendable> {
    let ToolSpec { name, description, parameters } = tool;
    if name.is_empty() {
        Err(Unsendable)
    } else {
        Ok(WireTool { name, description, input_schema: parameters })
    }
}

fn tool_choice(choice: &ToolChoice) -> Result<WireToolChoice<'_>, Unsendable> {
    Ok(match choice {
        ToolChoice::Named(name) if name.is_empty() => return Err(Unsendable),
        ToolChoice::Auto => WireToolChoice::Auto,
        ToolChoice::None => WireToolChoice::None,
        ToolChoice::Required => WireToolChoice::Any,
        ToolChoice::Named(name) => WireToolChoice::Tool { name },
    })
}
