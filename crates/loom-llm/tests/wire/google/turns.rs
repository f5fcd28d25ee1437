//! Turns that go back to the provider as they came.

use loom_classify::{Fenced, TaintOrigin, Tainted};
use loom_llm::decoder::DecodeError;
use loom_llm::error::{MalformedReply, TURN_VALUES_MAX};
use loom_llm::{ChatRequest, Collected, Message, ProviderTurn};
use serde_json::{Value, json};

use super::{call, decoded, end, failure, fold, is_unsendable, parts, reply, sent, sent_body, text};

/// The reply as a message of the conversation.
fn as_message(reply: Collected) -> Message {
    let origin = || TaintOrigin::llm("plan");
    let calls = reply.tool_calls.into_iter().map(|call| Tainted::new(call, origin()).into());
    Message::Assistant {
        content: Tainted::new(reply.text, origin()).into(),
        tool_calls: calls.collect(),
        turn: reply.turn.map(|turn| Tainted::new(turn, origin()).into()),
    }
}

pub(super) fn turn(dialect: &str, content: Value) -> Message {
    let turn = Tainted::new(ProviderTurn::new(dialect, content), TaintOrigin::llm("plan"));
    Message::Assistant {
        content: Fenced::trusted("said".to_owned()),
        tool_calls: Vec::new(),
        turn: Some(turn.into()),
    }
}

/// Complaint 9, a provider refuses results without the reasoning before them: signatures, thoughts and opaque parts go
/// back in their places, arguments byte for byte.
#[tokio::test]
async fn a_signed_turn_goes_back_as_it_came() {
    let arguments = "{ \"b\" : 1.50, \"a\": [] }";
    let first = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"id\":\"1\",\"name\":\"f\",\"args\":\
         {arguments}}},\"thoughtSignature\":\"c2lnMQ==\"}},{{\"functionCall\":{{\"name\":\"g\"}}}}]}}}}]}}\n\n"
    );
    let chunks = [
        parts(json!([{"text": "Hm", "thought": true}])),
        parts(json!([{"text": ".", "thought": true}])),
        text("I will "),
        text("look."),
        parts(
            json!([{"executableCode": {"language": "PYTHON", "code": "1"}}, {"text": "", "thoughtSignature": "c2lnMA=="}]),
        ),
    ];
    let streamed = [
        call(json!({"name": "h", "willContinue": true})),
        parts(
            json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.x", "stringValue": "y"}], "willContinue": true},
            "thoughtSignature": "c2lnMg=="}]),
        ),
        call(json!({})),
        end(),
    ];
    let body = [super::stream(&chunks), first.into_bytes(), super::stream(&streamed)].concat();
    let (pieces, error) = decoded([body.as_slice()]);
    assert!(error.is_none(), "{error:?}");
    let message = as_message(fold(pieces));
    let result = |id: &str| Message::tool(Fenced::trusted(id.to_owned()), Fenced::trusted("42".to_owned()));
    let request =
        ChatRequest::new("m", vec![Message::user("go"), message, result("1"), result(""), result("")]);
    let (_, body) = sent(&request).await;
    assert!(body.contains(&format!("\"args\":{arguments}")), "{body}");
    let sent: Value = serde_json::from_str(&body).unwrap();
    let expected = json!([
        {"text": "Hm.", "thought": true},
        {"text": "I will look."},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"text": "", "thoughtSignature": "c2lnMA=="},
        {"functionCall": {"id": "1", "name": "f", "args": {"b": 1.50, "a": []}}, "thoughtSignature": "c2lnMQ=="},
        {"functionCall": {"name": "g"}},
        {"functionCall": {"name": "h", "args": {"x": "y"}}, "thoughtSignature": "c2lnMg=="}]);
    assert_eq!(sent["contents"][1], json!({"role": "model", "parts": expected}));
    let names: Vec<_> =
        (0..3).map(|at| &sent["contents"][2]["parts"][at]["functionResponse"]["name"]).collect();
    assert_eq!(names, ["f", "g", "h"]);
}

#[test]
fn a_turn_comes_only_where_text_and_calls_cannot_rebuild_it() {
    let plain = [
        parts(json!([{"text": "Hm", "thought": true}, {"text": "a"}])),
        call(json!({"id": "1", "name": "f", "args": {"a": 1}})),
        call(json!({"name": "g", "willContinue": true})),
        call(json!({"partialArgs": [{"jsonPath": "$.x", "numberValue": 1}]})),
    ];
    assert_eq!(reply(&[plain.as_slice(), &[end()]].concat()).turn, None);
    for needed in [
        json!({"text": "", "thoughtSignature": "c2ln"}),
        json!({"text": "a", "thoughtSignature": "c2ln"}),
        json!({"functionCall": {"name": "f"}, "thoughtSignature": "c2ln"}),
        json!({"functionCall": {"name": "f", "thoughtSignature": "c2ln"}}),
        json!({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
        json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
    ] {
        let turn = reply(&[plain.as_slice(), &[parts(json!([needed])), end()]].concat()).turn.unwrap();
        assert_eq!(turn.dialect, loom_llm::google::DIALECT);
        assert_eq!(turn.content.as_array().unwrap().last(), Some(&needed));
        assert_eq!(turn.content.as_array().unwrap().len(), 5);
        assert_eq!(turn.content[2]["functionCall"]["args"], "{\"a\":1}", "arguments are kept as text");
    }
    let other_choice = json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "b", "thoughtSignature": "c2ln"}]}}]});
    assert_eq!(reply(&[text("a"), other_choice, end()]).turn, None, "a turn is that of the reply");
}

#[tokio::test]
async fn a_turn_of_another_dialect_is_left_out() {
    let request = ChatRequest::new("m", vec![turn("anthropic", json!([{"type": "thinking"}]))]);
    let expected = json!([{"role": "model", "parts": [{"text": "said"}]}]);
    assert_eq!(sent_body(&request).await["contents"], expected);
}

#[test]
fn what_is_kept_for_the_turn_is_bounded_and_neither_text_nor_arguments_count() {
    let large = || "x".repeat(1 << 19);
    let image = |_| parts(json!([{"inlineData": {"mimeType": "image/png", "data": large()}}]));
    let images: Vec<_> = (0..12).map(image).chain([end()]).collect();
    assert_eq!(reply(&images).turn.unwrap().content.as_array().unwrap().len(), 12, "a picture is one value");
    let numbers = || vec![0; TURN_VALUES_MAX / 8];
    let listed = |_| parts(json!([{"executableCode": {"code": numbers()}}]));
    let kept = |count: usize| (0..count).map(listed).chain([end()]).collect::<Vec<_>>();
    assert_eq!(reply(&kept(7)).turn.unwrap().content.as_array().unwrap().len(), 7);
    assert!(matches!(failure(&kept(8)), DecodeError::Malformed(MalformedReply::TurnTooLarge)));
    let signed = || parts(json!([{"functionCall": {"name": "f"}, "thoughtSignature": numbers()}]));
    let signed: Vec<_> = (0..8).map(|_| signed()).chain([end()]).collect();
    assert!(matches!(failure(&signed), DecodeError::Malformed(MalformedReply::TurnTooLarge)));
    let value = || {
        let values = [json!({"jsonPath": "$.a", "stringValue": large(), "willContinue": true})];
        call(json!({"partialArgs": values, "willContinue": true}))
    };
    let streamed: Vec<_> =
        [parts(json!([{"functionCall": {"name": "f", "willContinue": true}, "thoughtSignature": "c2ln"}]))]
            .into_iter()
            .chain((0..9).flat_map(|_| [text(&large()), value()]))
            .chain([call(json!({"partialArgs": [{"jsonPath": "$.a", "stringValue": ""}]})), end()])
            .collect();
    assert!(reply(&streamed).turn.is_some());
}

#[tokio::test]
async fn a_turn_that_is_none_or_holds_a_nameless_call_is_not_sent() {
    for content in [
        json!({}),
        json!(["x"]),
        json!([{"functionCall": "x"}]),
        json!([{"functionCall": {"args": "{}"}}]),
        json!([{"functionCall": {"name": "", "args": "{}"}}]),
        json!([{"functionCall": {"name": "f", "args": {"a": 1}}}]),
    ] {
        let request = ChatRequest::new("m", vec![turn("google", content.clone())]);
        assert!(is_unsendable(&request).await, "{content}");
    }
}
