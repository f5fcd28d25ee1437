//! A request in the dialect's words.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::contents::{Contents, Part, WireContent};
use crate::dialect::Unsendable;
use crate::request::{ChatRequest, ResponseFormat, ToolChoice, ToolSpec};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireRequest<'a> {
    contents: Vec<WireContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[WireTools<'a>; 1]>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    tool_config: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    generation_config: Map<String, Value>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters_json_schema: &'a Value,
}

/// The body of a request. Here fenced content leaves its fence, on its way to the model and nowhere else.
pub(super) fn body(request: &ChatRequest) -> Result<Vec<u8>, Unsendable> {
    let mut extra = request.extra.clone();
    let tool_config = tool_config(request, &mut extra)?;
    let generation_config = generation_config(request, &mut extra)?;
    refuse(&extra, &OWN_NAMES)?;
    let Contents { system, contents } = Contents::of(&request.messages)?;
    let declarations: Vec<_> = request.tools.iter().map(declaration).collect::<Result<_, _>>()?;
    Ok(serde_json::to_vec(&WireRequest {
        contents,
        system_instruction: (!system.is_empty()).then_some(SystemInstruction { parts: system }),
        tools: (!declarations.is_empty()).then_some([WireTools { function_declarations: declarations }]),
        tool_config,
        generation_config,
        extra,
    })?)
}

/// Names that a request has fields for, as [`spelled_alike`] spells them: in `extra` they would go past whatever judged
/// those fields.
const OWN_NAMES: [&str; 6] =
    ["contents", "generationconfig", "model", "systeminstruction", "toolconfig", "tools"];
const OWN_GENERATION_NAMES: [&str; 3] = ["maxoutputtokens", "stopsequences", "temperature"];
const OWN_FORMAT_NAMES: [&str; 5] = [
    "responseformat",
    "responsejsonschema",
    "responsejsonschemaordered",
    "responsemimetype",
    "responseschema",
];
const OWN_CALLING_NAMES: [&str; 2] = ["allowedfunctionnames", "mode"];

fn refuse(fields: &Map<String, Value>, own: &[&str]) -> Result<(), Unsendable> {
    let collides = |name: &String| own.contains(&spelled_alike(name).as_str());
    if fields.keys().any(collides) { Err(Unsendable) } else { Ok(()) }
}

/// The API takes each name in camel case and in snake case.
fn spelled_alike(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').map(|letter| letter.to_ascii_lowercase()).collect()
}

/// What stands in `fields` under a name that the request writes itself too.
fn beside(fields: &mut Map<String, Value>, name: &str) -> Result<Map<String, Value>, Unsendable> {
    match fields.remove(name) {
        None => Ok(Map::new()),
        Some(Value::Object(beside)) => Ok(beside),
        Some(_) => Err(Unsendable),
    }
}

fn generation_config(
    request: &ChatRequest,
    extra: &mut Map<String, Value>,
) -> Result<Map<String, Value>, Unsendable> {
    let mut config = beside(extra, "generationConfig")?;
    refuse(&config, &OWN_GENERATION_NAMES)?;
    let mut set = |name: &str, value: Value| drop(config.insert(name.to_owned(), value));
    if let Some(tokens) = request.max_tokens {
        set("maxOutputTokens", tokens.into());
    }
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.into());
    }
    if !request.stop.is_empty() {
        set("stopSequences", request.stop.clone().into());
    }
    if let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format {
        refuse(&config, &OWN_FORMAT_NAMES)?;
        config.insert("responseMimeType".to_owned(), "application/json".into());
        config.insert("responseJsonSchema".to_owned(), json_schema.schema.clone());
    }
    Ok(config)
}

fn tool_config(
    request: &ChatRequest,
    extra: &mut Map<String, Value>,
) -> Result<Map<String, Value>, Unsendable> {
    let mut config = beside(extra, "toolConfig")?;
    let mut calling = beside(&mut config, "functionCallingConfig")?;
    refuse(&config, &["functioncallingconfig"])?;
    refuse(&calling, &OWN_CALLING_NAMES)?;
    if let Some(choice) = &request.tool_choice {
        let (mode, allowed) = match choice {
            ToolChoice::Auto => ("AUTO", None),
            ToolChoice::None => ("NONE", None),
            ToolChoice::Required => ("ANY", None),
            ToolChoice::Named(name) if name.is_empty() => return Err(Unsendable),
            ToolChoice::Named(name) => ("ANY", Some(json!([name]))),
        };
        calling.insert("mode".to_owned(), mode.into());
        calling.extend(allowed.map(|names| ("allowedFunctionNames".to_owned(), names)));
    }
    if !calling.is_empty() {
        config.insert("functionCallingConfig".to_owned(), calling.into());
    }
    Ok(config)
}

fn declaration(spec: &ToolSpec) -> Result<FunctionDeclaration<'_>, Unsendable> {
    let ToolSpec { name, description, parameters } = spec;
    if name.is_empty() {
        return Err(Unsendable);
    }
    Ok(FunctionDeclaration { name, description, parameters_json_schema: parameters })
}
