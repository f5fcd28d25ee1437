//! Replies as servers really end, shape and spoil them.

use loom_llm::decoder::DecodeError;
use loom_llm::error::MalformedReply;
use loom_llm::{LlmChunk, Provider, ProviderFault, Remedy, Usage};
use serde_json::{Value, json};

use super::{calls, decoded, end, failure, finish, fold, parts, pieces, provider, reply, stream, text};
use crate::peer::{Act, Peer, event, request, within};

fn usage(metadata: Value) -> Value {
    json!({"usageMetadata": metadata})
}

/// D20: thoughts are reasoning and never text, and neither arguments nor opaque parts are shown as either.
#[test]
fn each_part_is_told_as_what_it_is() {
    let shown = pieces(&[
        parts(json!([
            {"text": "Hm.", "thought": true},
            {"text": "A", "thought": false},
            {"text": "B", "thought": null, "thoughtSignature": "c2ln"},
            {"text": "C", "thought": true, "thoughtSignature": "c2ln"},
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
            {"toolCall": {"name": "search", "args": {}}},
            {"functionCall": {"name": "f", "args": {"q": 1}}},
        ])),
        end(),
    ]);
    let reply = fold(shown);
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("AB", "Hm.C"));
    assert_eq!(calls(&reply), [("", "f", r#"{"q":1}"#)]);
}

/// D3: a later figure replaces an earlier one of its kind, and what says nothing changes nothing.
#[test]
fn usage_is_the_last_figure_of_each_kind_and_unknown_is_not_zero() {
    let told = |chunks: &[Value]| reply(&[chunks, &[end()]].concat()).usage;
    assert_eq!(told(&[]), None);
    assert_eq!(told(&[usage(json!({"trafficType": "ON_DEMAND"})), usage(json!({}))]), None);
    assert_eq!(told(&[usage(json!({"promptTokenCount": "7", "candidatesTokenCount": -1}))]), None);
    let first = usage(json!({"promptTokenCount": 9, "totalTokenCount": 20, "thoughtsTokenCount": 11}));
    let known = Usage { input_tokens: Some(9), output_tokens: None };
    assert_eq!(told(std::slice::from_ref(&first)), Some(known));
    let second = usage(json!({"candidatesTokenCount": 5}));
    let third = usage(json!({"promptTokenCount": 10, "candidatesTokenCount": 6}));
    assert_eq!(told(&[first.clone(), second.clone()]), Some(Usage::new(9, 5)));
    assert_eq!(
        told(&[first, second, third, usage(json!({"trafficType": "ON_DEMAND"}))]),
        Some(Usage::new(10, 6))
    );
}

/// D3: usage of a reply that failed is kept, also where the failing chunk itself tells it.
#[test]
fn usage_comes_before_the_error_that_stands_beside_it() {
    let told = json!({"error": {"code": 503, "status": "UNAVAILABLE"}, "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 1}});
    let (chunks, error) = decoded([stream(&[text("a"), told]).as_slice()]);
    assert_eq!(
        chunks,
        [LlmChunk::Text { choice: 0, text: "a".to_owned() }, LlmChunk::Usage(Usage::new(2, 1))]
    );
    assert!(matches!(error, Some(DecodeError::Reported { remedy: Remedy::Retry, .. })), "{error:?}");
}

#[test]
fn a_reply_ends_with_its_finish_reason_in_the_providers_own_word() {
    for word in ["STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "SOMETHING_NEW", "stop"] {
        assert_eq!(reply(&[text("a"), finish(word)]).finish_reason.as_deref(), Some(word));
    }
    let late = [
        finish("STOP"),
        text("b"),
        usage(json!({"promptTokenCount": 1})),
        json!({"candidates": [], "error": {}}),
    ];
    let reply = reply(&late);
    assert_eq!((reply.text.as_str(), reply.usage.unwrap().input_tokens), ("b", Some(1)));
}

#[test]
fn a_stream_without_a_finish_reason_ended_early() {
    for chunks in [
        vec![],
        vec![text("a")],
        vec![text("a"), finish("")],
        vec![text("a"), finish("FINISH_REASON_UNSPECIFIED")],
        vec![text("a"), json!({"candidates": [{"index": 1, "finishReason": "STOP"}]})],
        vec![text("a"), json!({"candidates": [{"finishReason": 7}]})],
    ] {
        assert!(matches!(failure(&chunks), DecodeError::EndedEarly), "{chunks:?}");
    }
    let marked =
        |chunks: &[Value]| decoded([[stream(chunks), event("[DONE]"), event("x")].concat().as_slice()]);
    assert!(marked(&[text("a"), end()]).1.is_none(), "what stands behind the mark is not read");
    let unended = [stream(&[text("a")]), event("[DONE]")].concat();
    assert!(matches!(decoded([unended.as_slice()]).1, Some(DecodeError::EndedEarly)));
}

#[test]
fn a_blocked_request_is_declined_with_the_providers_word() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "no"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}});
    let whole = blocked.to_string();
    for reply in [reply(std::slice::from_ref(&blocked)), fold(decoded([whole.as_bytes()]).0)] {
        assert!(reply.declined);
        assert_eq!(reply.finish_reason.as_deref(), Some("PROHIBITED_CONTENT"));
        assert_eq!(reply.explanation.as_deref(), Some("no"));
        assert_eq!(reply.usage.unwrap().input_tokens, Some(9));
        assert_eq!(reply.text, "");
    }
    let ratings = json!({"promptFeedback": {"safetyRatings": []}, "candidates": []});
    assert!(!reply(&[ratings, text("a"), end()]).declined);
    let answered =
        json!({"promptFeedback": {"blockReason": "OTHER"}, "candidates": [{"finishReason": "STOP"}]});
    assert!(!reply(&[answered]).declined, "an answer is an answer");
}

#[test]
fn a_candidate_that_was_held_back_is_declined_with_the_providers_words() {
    let ended = |reason: &str, message: Value| json!({"candidates": [{"finishReason": reason, "finishMessage": message}]});
    for reason in [
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    ] {
        for (message, expected) in
            [(json!("not this"), Some("not this")), (json!(""), None), (json!(7), None)]
        {
            let chunk = ended(reason, message);
            let whole = fold(decoded([chunk.to_string().as_bytes()]).0);
            for reply in [reply(&[text("a"), chunk.clone()]), whole] {
                assert!(reply.declined, "{reason}");
                assert_eq!(reply.finish_reason.as_deref(), Some(reason));
                assert_eq!(reply.explanation.as_deref(), expected, "{reason}");
            }
        }
    }
    for reason in ["STOP", "MAX_TOKENS", "MALFORMED_FUNCTION_CALL", "OTHER", "LANGUAGE"] {
        let reply = reply(&[ended(reason, json!("words"))]);
        assert_eq!((reply.declined, reply.explanation), (false, None), "{reason}");
    }
    let other = json!({"candidates": [{"index": 1, "finishReason": "SAFETY", "finishMessage": "no"}]});
    assert!(!reply(&[text("a"), other, end()]).declined, "another choice is not the reply");
}

/// Complaint 4, strict types kill the stream: a field that is missing or of another type counts as absent.
#[test]
fn what_is_missing_or_of_another_type_counts_as_absent() {
    let reply = reply(&[
        json!({}),
        json!({"candidates": null, "usageMetadata": [], "promptFeedback": "x", "error": null}),
        json!({"candidates": {"content": 7}}),
        json!({"candidates": [7, null, "x", {}, {"content": null}, {"content": {"parts": {}}}]}),
        json!({"candidates": [{"content": {"role": 7}}], "unknown": {"deep": [1]}}),
        json!({"candidates": [{"content": {"parts": [null, 7, [], {}, {"text": 7}, {"functionCall": 7}]}}]}),
        json!({"candidates": [{"index": "x", "content": {"parts": [{"text": "a"}, {"text": "b", "new": 1}]}}]}),
        json!({"candidates": [{"finishReason": "STOP", "safetyRatings": [], "groundingMetadata": {}}]}),
    ]);
    assert_eq!((reply.text.as_str(), reply.finish_reason.as_deref()), ("ab", Some("STOP")));
}

#[test]
fn what_is_no_object_and_text_that_is_no_unicode_are_faults() {
    let half = r#"{"candidates":[{"content":{"parts":[{"text":"\ud834"}]},"finishReason":"STOP"}]}"#;
    for data in ["7", "\"x\"", "null", "x", "{\"candidates\":[}", half] {
        let error = decoded([[event(data), stream(&[end()])].concat().as_slice()]).1;
        assert!(
            matches!(error, Some(DecodeError::Malformed(MalformedReply::NotTheDialect))),
            "{data}: {error:?}"
        );
    }
}

#[test]
fn candidates_are_told_apart_by_their_index_else_by_their_place() {
    let said = |text: &str, index: Value| json!({"content": {"parts": [{"text": text}]}, "index": index});
    let chunks = [
        json!({"candidates": [said("a", json!(1)), said("b", json!(0))]}),
        json!({"candidates": [said("c", Value::Null), said("d", Value::Null)]}),
        json!({"candidates": [{"index": 1, "finishReason": "SAFETY"}]}),
        end(),
    ];
    let texts: Vec<_> = pieces(&chunks)
        .into_iter()
        .filter_map(|piece| match piece {
            LlmChunk::Text { choice, text } => Some((choice, text)),
            _ => None,
        })
        .collect();
    assert_eq!(texts, [(1, "a".into()), (0, "b".into()), (0, "c".into()), (1, "d".into())]);
    let reply = reply(&chunks);
    assert_eq!((reply.text.as_str(), reply.finish_reason.as_deref()), ("bc", Some("STOP")));
}

#[test]
fn an_error_is_told_wherever_and_however_it_stands() {
    let told = |code: u16, status: &str| json!({"error": {"code": code, "message": "words", "status": status, "details": []}});
    for (error, expected) in [
        (told(429, "RESOURCE_EXHAUSTED"), Remedy::Retry),
        (told(503, "UNAVAILABLE"), Remedy::Retry),
        (told(500, "INTERNAL"), Remedy::Retry),
        (told(400, "INVALID_ARGUMENT"), Remedy::FixRequest),
        (told(403, "PERMISSION_DENIED"), Remedy::GiveUp),
        (told(401, "UNAUTHENTICATED"), Remedy::GiveUp),
        (told(404, "NOT_FOUND"), Remedy::FixRequest),
    ] {
        let listed = json!([error]);
        let bodies = [
            stream(std::slice::from_ref(&error)),
            stream(&[text("a"), listed.clone()]),
            [stream(&[text("a")]), format!("event: error\ndata: {error}\n\n").into_bytes()].concat(),
            error.to_string().into_bytes(),
            listed.to_string().into_bytes(),
            json!([text("a"), error]).to_string().into_bytes(),
        ];
        for body in bodies {
            let Some(DecodeError::Reported { remedy, message, .. }) = decoded([body.as_slice()]).1 else {
                panic!("no reported error in {}", String::from_utf8_lossy(&body));
            };
            assert_eq!(remedy, expected, "{}", String::from_utf8_lossy(&body));
            assert_eq!(message.unwrap().expose_tainted(), "words");
        }
    }
}

#[tokio::test]
async fn a_reply_in_one_piece_or_as_a_list_says_the_same_as_a_stream() {
    let said = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"},
            {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c"}, "thoughtSignature": "c2ln"}]},
            "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}});
    let streamed = reply(std::slice::from_ref(&said));
    for body in [said.to_string(), json!([said]).to_string(), format!("\n {said}\r\n")] {
        let answer =
            || vec![crate::peer::reply("200 OK", "content-type: application/json; charset=UTF-8\r\n", &body)];
        let mut peer = Peer::start(vec![answer(), answer()]).await;
        let provider = provider(&peer);
        let whole = within(provider.complete(&request())).await.unwrap();
        assert!(peer.request().await.starts_with("POST /v1beta/models/default:generateContent HTTP/1.1\r\n"));
        let stream = within(provider.stream(&request())).await.unwrap();
        let chunks: Vec<_> = within(futures::StreamExt::collect(stream)).await;
        let unasked = fold(chunks.into_iter().map(|chunk: Result<_, _>| chunk.unwrap()).collect());
        assert_eq!(calls(&whole), calls(&streamed));
        assert_eq!((&whole.text, whole.usage, &whole.turn), (&streamed.text, streamed.usage, &streamed.turn));
        assert_eq!(unasked, whole);
    }
}

#[test]
fn a_whole_reply_must_have_a_candidate_and_a_list_must_have_an_end() {
    for (body, usage) in [("{}", false), ("[]", false), (r#"{"usageMetadata":{"promptTokenCount":3}}"#, true)]
    {
        let (chunks, error) = decoded([body.as_bytes()]);
        assert!(matches!(error, Some(DecodeError::Malformed(MalformedReply::NotTheDialect))), "{body}");
        assert_eq!(!chunks.is_empty(), usage, "what was spent is kept");
    }
    let list = json!([text("a")]).to_string();
    assert!(matches!(decoded([list.as_bytes()]).1, Some(DecodeError::EndedEarly)));
    let unended = text("a").to_string();
    assert_eq!(fold(decoded([unended.as_bytes()]).0).text, "a", "one object is whole by itself");
}

#[tokio::test]
async fn an_error_status_keeps_its_words_apart_and_a_broken_stream_its_usage() {
    let canary = "canary-in-the-error";
    let body =
        json!([{"error": {"code": 429, "message": canary, "status": "RESOURCE_EXHAUSTED"}}]).to_string();
    let refused = crate::peer::reply("429 Too Many Requests", "", &body);
    let cut = [stream(&[text("a"), usage(json!({"promptTokenCount": 2}))])].concat();
    let peer =
        Peer::start(vec![vec![refused], vec![Act::Send(crate::peer::STREAM_HEAD.into()), Act::Send(cut)]])
            .await;
    let provider = provider(&peer);
    let error = within(provider.stream(&request())).await.err().unwrap();
    assert_eq!(error.remedy(), Remedy::Retry);
    assert_eq!(error.message().unwrap().expose_tainted(), canary);
    assert!(!format!("{error} {error:?}").contains(canary));
    let stream = within(provider.stream(&request())).await.unwrap();
    let mut chunks: Vec<_> = within(futures::StreamExt::collect(stream)).await;
    let last: loom_llm::ProviderError = chunks.pop().unwrap().unwrap_err();
    assert!(matches!(last.fault(), ProviderFault::EndedEarly { .. }));
    assert_eq!(chunks.len(), 2);
}
