//! What a model is asked, in no provider's dialect.

mod format;
mod message;
mod tools;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use format::{JsonSchema, ResponseFormat};
pub use message::{Image, Message};
pub use tools::{ToolChoice, ToolSpec};

/// The model that is named where neither request nor effect names one: servers of one model take any name.
pub const MODEL_DEFAULT: &str = "default";

/// A chat request: the input of the LLM effect.
///
/// System and user content is plain text, so tainted text does not type-check there; what a model or a tool said
/// goes into [`Message::Assistant`] and [`Message::Tool`], whose content is fenced (D9). Unknown fields are refused,
/// so that a misspelled bound does not vanish.
///
/// ```
/// # use loom_classify::{TaintOrigin, Tainted};
/// # use loom_llm::Message;
/// let said = Tainted::new("text of a model".to_owned(), TaintOrigin::llm("plan"));
/// let turn = Message::assistant(said.into());
/// ```
/// ```compile_fail,E0277
/// # use loom_classify::{TaintOrigin, Tainted};
/// # use loom_llm::Message;
/// let said = Tainted::new("text of a model".to_owned(), TaintOrigin::llm("plan"));
/// let turn = Message::user(said);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The model's name, as the provider spells it; where absent, the effect's default, else [`MODEL_DEFAULT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The most tokens the reply may have; the provider's default where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The sampling temperature; the provider's default where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The form that the reply must have; free text where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Whether it must; the provider's default, which is that it may, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Texts at which the reply ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Fields of one provider's dialect that have no name here (`reasoning_effort`, `thinking`, …): they are written
    /// into the body as they stand, at its top, and may not replace a field that this type has.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ChatRequest {
    /// A request to the named model, without bounds or form.
    #[must_use]
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self { model: Some(model.into()), ..Self::of(messages) }
    }

    /// A request that leaves the model to the effect, or else to the provider.
    #[must_use]
    pub fn of(messages: Vec<Message>) -> Self {
        Self {
            model: None,
            messages,
            max_tokens: None,
            temperature: None,
            response_format: None,
            tools: Vec::new(),
            tool_choice: None,
            stop: Vec::new(),
            extra: Map::new(),
        }
    }

    /// The same with a bound on the reply, in tokens.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// The same with a sampling temperature.
    #[must_use]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// The same with a form for the reply.
    #[must_use]
    pub fn with_response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = Some(format);
        self
    }

    /// The same with tools that the model may call.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.tools = tools;
        self
    }

    /// The same with a word on whether tools must be called.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// The same with texts at which the reply ends.
    #[must_use]
    pub fn with_stop(mut self, stop: Vec<String>) -> Self {
        self.stop = stop;
        self
    }

    /// The same with a field of the provider's own; see [`extra`](Self::extra).
    #[must_use]
    pub fn with_extra(mut self, name: impl Into<String>, value: Value) -> Self {
        self.extra.insert(name.into(), value);
        self
    }
}

#[cfg(test)]
mod tests {
    use loom_classify::guard::{RequestLimits, guard_request};
    use loom_classify::{TaintOrigin, Tainted};
    use serde_json::json;

    use super::*;

    fn tainted() -> Tainted<String> {
        Tainted::new("said".to_owned(), TaintOrigin::llm("plan"))
    }

    /// D9: what models and tools said passes the request guard in its fence and nowhere else.
    #[test]
    fn taint_is_let_through_in_fenced_content_only() {
        let fenced = vec![Message::user("hi"), Message::assistant(tainted().into())];
        let mut request = ChatRequest::new("m", fenced);
        let guarded = guard_request(&request, &RequestLimits::default()).unwrap();
        assert!(guarded.fenced.contains(&TaintOrigin::llm("plan")), "its origins join those of the output");
        let schema = json!({"const": tainted()});
        request = request.with_response_format(ResponseFormat::json_schema("plan", schema));
        assert!(guard_request(&request, &RequestLimits::default()).is_err());
    }

    /// D9: coercion from JSON puts taint behind the fence, and refuses it where there is none.
    #[test]
    fn taint_in_json_becomes_fenced_content_or_is_refused() {
        let read =
            |message| serde_json::from_value::<ChatRequest>(json!({"model": "m", "messages": [message]}));
        let request = read(json!({"role": "tool", "content": tainted(), "tool_call_id": tainted()})).unwrap();
        let Some(Message::Tool { content, .. }) = request.messages.first() else { panic!("no tool message") };
        assert!(!content.is_trusted());
        for role in ["system", "user"] {
            assert!(read(json!({"role": role, "content": "hi"})).is_ok());
            assert!(read(json!({"role": role, "content": tainted()})).is_err());
        }
    }

    #[test]
    fn a_request_survives_its_json_form_and_a_misspelled_field_is_refused() {
        let messages = vec![Message::system("s"), Message::assistant(tainted().into())];
        let request = ChatRequest::new("m", messages)
            .with_max_tokens(9)
            .with_temperature(0.5)
            .with_response_format(ResponseFormat::json_schema("f", json!({"type": "object"})));
        let json = serde_json::to_value(&request).unwrap();
        let read: ChatRequest = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), json);
        for misspelled in [
            json!({"model": "m", "messages": [], "max_token": 9}),
            json!({"model": "m", "messages": [{"role": "user", "content": "hi", "name": "x"}]}),
        ] {
            assert!(serde_json::from_value::<ChatRequest>(misspelled).is_err());
        }
    }
}
