//! A request in the dialect's words.

use serde::Serialize;

use crate::request::{ChatRequest, MODEL_DEFAULT, Message, ResponseFormat};

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'a ResponseFormat>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The body of a request. Here fenced content leaves its fence, on its way to the model and nowhere else.
pub(super) fn body(request: &ChatRequest, streamed: bool) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&WireRequest {
        model: request.model.as_deref().unwrap_or(MODEL_DEFAULT),
        messages: request.messages.iter().map(message).collect(),
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        response_format: request.response_format.as_ref(),
        stream: streamed,
        stream_options: streamed.then_some(StreamOptions { include_usage: true }),
    })
}

fn message(message: &Message) -> WireMessage<'_> {
    match message {
        Message::System { content } => WireMessage { role: "system", content, tool_call_id: None },
        Message::User { content } => WireMessage { role: "user", content, tool_call_id: None },
        Message::Assistant { content } => {
            WireMessage { role: "assistant", content: content.expose_tainted(), tool_call_id: None }
        }
        Message::Tool { tool_call_id, content } => {
            WireMessage { role: "tool", content: content.expose_tainted(), tool_call_id: Some(tool_call_id) }
        }
    }
}

#[cfg(test)]
mod tests {
    use loom_classify::{TaintOrigin, Tainted};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_request_is_written_in_the_dialect_with_fenced_content_bare() {
        let said = Tainted::new("earlier".to_owned(), TaintOrigin::llm("plan"));
        let request = ChatRequest::new(
            "m",
            vec![
                Message::system("be brief"),
                Message::user("hi"),
                Message::assistant(said.clone().into()),
                Message::tool("call_1", said.into()),
            ],
        )
        .with_max_tokens(512)
        .with_temperature(0.0)
        .with_response_format(ResponseFormat::json_schema("plan", json!({"type": "object"})));
        let wire: Value = serde_json::from_slice(&body(&request, true).unwrap()).unwrap();
        assert_eq!(
            wire,
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "be brief"},
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "earlier"},
                    {"role": "tool", "content": "earlier", "tool_call_id": "call_1"},
                ],
                "max_tokens": 512,
                "temperature": 0.0,
                "response_format": {"type": "json_schema", "json_schema":
                    {"name": "plan", "schema": {"type": "object"}, "strict": true}},
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }

    #[test]
    fn what_is_not_set_is_not_sent() {
        let wire: Value =
            serde_json::from_slice(&body(&ChatRequest::of(Vec::new()), false).unwrap()).unwrap();
        assert_eq!(wire, json!({"model": MODEL_DEFAULT, "messages": [], "stream": false}));
    }
}
