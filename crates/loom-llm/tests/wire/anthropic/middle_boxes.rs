//! What stands between the provider and us, and changes what it says.

use loom_llm::error::MalformedReply;
use loom_llm::{ChatRequest, Collected, DecodeError, Message, Provider, ProviderFault, Remedy, Usage};
use serde_json::{Value, json};

use super::{calls, decode, fold, provider, reply, start, stop, text, turn};
use crate::peer::{Peer, reply as http, request, within};

fn events() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "m", "content": [],
            "usage": {"input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ]
}

fn without(mut event: Value, fields: &[&str]) -> Value {
    for field in fields {
        event.as_object_mut().unwrap().remove(*field);
    }
    event
}

fn check(got: &Collected, how: &str) {
    assert_eq!((got.text.as_str(), got.reasoning.as_str()), ("Hi", "hm"), "{how}");
    assert_eq!(calls(got), [("t", "f", "{\"a\":1}")], "{how}");
    assert_eq!(
        (got.finish_reason.as_deref(), got.usage),
        (Some("tool_use"), Some(Usage::new(5, 7))),
        "{how}"
    );
    assert_eq!(turn(got).map(Vec::len), Some(3), "{how}");
}

#[test]
fn an_event_is_known_by_its_type_or_by_its_name_or_by_what_it_holds() {
    type Rewrite = fn(Value) -> (String, Value);
    let rewrites: [(&str, Rewrite); 6] = [
        ("as it was", |event| (event["type"].as_str().unwrap().to_owned(), event)),
        ("without names", |event| (String::new(), event)),
        ("named for all events alike", |event| ("message".to_owned(), event)),
        ("without types", |event| (event["type"].as_str().unwrap().to_owned(), without(event, &["type"]))),
        ("with neither", |event| (String::new(), without(event, &["type"]))),
        ("under a name that contradicts", |event| ("ping".to_owned(), event)),
    ];
    for (how, rewrite) in rewrites {
        let mut body = String::new();
        for (name, event) in events().into_iter().map(rewrite) {
            body += &if name.is_empty() { String::new() } else { format!("event: {name}\n") };
            body += &format!("data: {event}\n\n");
        }
        let (got, error) = decode([body.as_bytes()]);
        assert!(error.is_none(), "{how}: {error:?}");
        check(&fold(got), how);
    }
}

#[test]
fn types_of_deltas_and_ends_of_blocks_and_indices_may_be_missing() {
    let untyped = |mut event: Value| {
        if let Some(delta) = event["delta"].as_object_mut() {
            delta.remove("type");
        }
        event
    };
    check(&reply(&events().into_iter().map(untyped).collect::<Vec<_>>()), "untyped deltas");
    let endless: Vec<_> =
        events().into_iter().filter(|event| event["type"] != "content_block_stop").collect();
    check(&reply(&endless), "no ends of blocks");
    let unnumbered: Vec<_> = events().into_iter().map(|event| without(event, &["index"])).collect();
    check(&reply(&unnumbered), "no indices");
    let alike = |mut event: Value| {
        event.as_object_mut().unwrap().entry("index").and_modify(|index| *index = json!(0));
        event
    };
    check(&reply(&events().into_iter().map(alike).collect::<Vec<_>>()), "one index for all");
    let headless = fold(decode([&*super::stream(&events()[1..])]).0);
    assert_eq!((headless.text.as_str(), headless.usage.and_then(|usage| usage.input_tokens)), ("Hi", None));
}

#[test]
fn the_end_mark_of_another_dialect_and_blank_events_say_nothing() {
    let mut body = b"data:\n\nevent: ping\ndata: {}\n\n".to_vec();
    body.extend(super::stream(&events()[..12]));
    body.extend_from_slice(b"data: [DONE]\n\n");
    let (got, error) = decode([&*body]);
    assert!(error.is_none());
    check(&fold(got), "with the mark");
}

#[test]
fn blocks_that_come_with_the_start_of_their_message_are_read() {
    let message = json!({"id": "m", "content": [
        {"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]});
    let begun = json!({"type": "message_start", "message": message});
    let got = reply(&[begun.clone(), begun, text(0, "!"), stop()]);
    assert_eq!((got.text.as_str(), calls(&got)), ("Hi!", vec![("t", "f", "{\"a\":1}")]));
}

fn whole() -> String {
    // As text, so that the arguments are seen to be the bytes that came.
    r#"{"id": "m", "type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Hi", "citations": null},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"b": 1.0, "a": [ ]}},
        {"type": "tool_use", "id": "u", "name": "g", "input": {}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 7}}"#
        .to_owned()
}

/// D3: a reply in one piece says what a stream says, usage included.
#[tokio::test]
async fn a_reply_in_one_piece_is_read_whatever_was_asked_for() {
    let json_reply = || vec![http("200 OK", "content-type: application/json\r\n", &whole())];
    let mut peer = Peer::start(vec![json_reply(), json_reply()]).await;
    let provider = provider(&peer);
    let got = within(provider.complete(&request())).await.unwrap();
    assert!(peer.request().await.contains("\"stream\":false"));
    assert_eq!((got.text.as_str(), got.reasoning.as_str()), ("Hi", "hm"));
    assert_eq!(calls(&got), [("t", "f", "{\"b\": 1.0, \"a\": [ ]}"), ("u", "g", "")]);
    assert_eq!((got.finish_reason.as_deref(), got.usage), (Some("tool_use"), Some(Usage::new(5, 7))));
    assert_eq!(turn(&got).map(Vec::len), Some(4));
    let mut stream = provider.stream(&request()).await.unwrap();
    let mut streamed = Collected::default();
    while let Some(chunk) = within(futures::StreamExt::next(&mut stream)).await {
        streamed.fold(chunk.unwrap()).unwrap();
    }
    assert_eq!(streamed, got);
}

#[test]
fn a_reply_in_one_piece_may_be_a_refusal_or_an_error_and_must_have_content() {
    let refused = json!({"content": [], "stop_reason": "refusal", "stop_details": {"explanation": "no"}});
    let (got, error) = decode([refused.to_string().as_bytes()]);
    assert!(error.is_none());
    let got = fold(got);
    assert_eq!((got.declined, got.explanation.as_deref(), got.text.as_str()), (true, Some("no"), ""));
    for (body, remedy) in [
        (json!({"type": "error", "error": {"type": "overloaded_error"}}), Remedy::Retry),
        (json!({"error": {"type": "invalid_request_error"}, "content": []}), Remedy::FixRequest),
    ] {
        let (_, error) = decode([body.to_string().as_bytes()]);
        assert!(
            matches!(error, Some(DecodeError::Reported { remedy: told, .. }) if told == remedy),
            "{body}"
        );
    }
    for body in [
        r"{}",
        r#"{"content": null}"#,
        r#"{"content": null, "stop_reason": ""}"#,
        r#"{"content": 7, "stop_reason": "end_turn"}"#,
        r#"{"content": {}, "stop_reason": "end_turn"}"#,
        r#"[{"content": []}]"#,
        r#"{"content": ["#,
    ] {
        let (_, error) = decode([body.as_bytes()]);
        let malformed = matches!(error, Some(DecodeError::Malformed(MalformedReply::NotTheDialect)));
        assert!(malformed || matches!(error, Some(DecodeError::EndedEarly)), "{body}: {error:?}");
    }
}

#[test]
fn content_that_is_plain_text_is_said_and_none_at_all_is_an_empty_reply() {
    for content in [json!("Hi"), json!(["H", "i"]), json!(["H", {"type": "text", "text": "i"}])] {
        for body in [json!({"content": content}), json!({"content": content, "stop_reason": "end_turn"})] {
            let (got, error) = decode([body.to_string().as_bytes()]);
            assert!(error.is_none(), "{body}: {error:?}");
            let got = fold(got);
            assert_eq!((got.text.as_str(), turn(&got)), ("Hi", None), "{body}");
        }
        let begun = json!({"type": "message_start", "message": {"id": "m", "content": content}});
        assert_eq!(reply(&[begun, text(0, "!"), stop()]).text, "Hi!");
    }
    for body in [
        json!({"content": null, "stop_reason": "refusal", "usage": {"input_tokens": 5, "output_tokens": 0}}),
        json!({"stop_reason": "refusal", "usage": {"input_tokens": 5, "output_tokens": 0}}),
    ] {
        let (got, error) = decode([body.to_string().as_bytes()]);
        assert!(error.is_none(), "{body}: {error:?}");
        let got = fold(got);
        assert_eq!((got.text.as_str(), got.declined, got.usage), ("", true, Some(Usage::new(5, 0))));
    }
}

#[tokio::test]
async fn an_error_status_is_typed_by_its_body_and_its_words_stay_tainted() {
    let body =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "canary"}}).to_string();
    let limited = http("429 Too Many Requests", "retry-after: 7\r\n", &body);
    let peer = Peer::start(vec![vec![http("529 Overloaded", "", &body)], vec![limited]]).await;
    let provider = provider(&peer);
    let error =
        within(provider.stream(&ChatRequest::of(vec![Message::user("hi")]))).await.map(drop).unwrap_err();
    assert!(matches!(error.fault(), ProviderFault::Status { status: 529, .. }));
    assert_eq!(error.remedy(), Remedy::Retry);
    assert_eq!(error.message().unwrap().expose_tainted(), "canary");
    assert!(!format!("{error} {error:?}").contains("canary"));
    let error = within(provider.complete(&request())).await.unwrap_err();
    assert_eq!(error.remedy(), Remedy::RetryAfter(std::time::Duration::from_secs(7)));
    assert_eq!(reply(&[start("m"), stop()]), Collected::default());
}
