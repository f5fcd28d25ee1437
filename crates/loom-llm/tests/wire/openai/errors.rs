//! Errors inside a reply of status 200, and what is no reply at all.

use loom_llm::decoder::DecodeError;
use loom_llm::error::MalformedReply;
use loom_llm::sse::SSE_BODY_MAX_BYTES;
use loom_llm::{LlmChunk, Remedy};
use serde_json::{Value, json};

use super::{decoded, end, stream, text};
use crate::peer::event;

const CANARY: &str = "canary-in-the-error";

/// An error after a piece of text; the text comes out, the rest of the body is not read.
fn reported(body: &[u8]) -> (Remedy, Option<String>) {
    let all = [stream(&[text("a")]), body.to_vec(), event("not read")].concat();
    let (chunks, error) = decoded([all.as_slice()]);
    assert_eq!(chunks, [LlmChunk::Text { choice: 0, text: "a".into() }]);
    match error {
        Some(DecodeError::Reported { remedy, message, retry_after }) => {
            let error = DecodeError::Reported { remedy, message: message.clone(), retry_after };
            assert!(!format!("{error} {error:?}").contains(CANARY), "its words stay tainted");
            (remedy, message.map(|message| message.expose_tainted().clone()))
        }
        other => panic!("expected a reported error, got {other:?} for {}", String::from_utf8_lossy(body)),
    }
}

/// An error in mid-stream, in the shapes that servers give it, is typed by what the caller can do.
#[test]
fn an_error_in_a_stream_is_typed_and_its_words_stay_tainted() {
    let told = Some(CANARY.to_owned());
    let of = |data: Value| event(&data.to_string());
    for (body, remedy) in [
        (of(json!({"error": {"message": CANARY, "code": 400}})), Remedy::FixRequest),
        (of(json!({"error": {"message": CANARY, "type": "overloaded_error"}})), Remedy::Retry),
        (of(json!({"error": {"message": CANARY, "code": "insufficient_quota"}})), Remedy::GiveUp),
        (of(json!({"error": CANARY, "choices": []})), Remedy::Retry),
        (of(json!({"error": CANARY, "choices": null})), Remedy::Retry),
        (of(json!({"object": "error", "message": CANARY, "code": 503})), Remedy::Retry),
        (of(json!({"message": CANARY, "code": 401})), Remedy::GiveUp),
        (of(json!({"message": CANARY, "type": "invalid_request_error"})), Remedy::FixRequest),
        (of(json!({"message": CANARY, "code": "context_length_exceeded"})), Remedy::FixRequest),
        (of(json!({"message": CANARY, "status": 404})), Remedy::FixRequest),
        (of(json!({"message": CANARY, "status": "error"})), Remedy::Retry),
        (of(json!({"detail": CANARY})), Remedy::Retry),
        (of(json!({"success": false, "errors": [{"code": 400, "message": CANARY}]})), Remedy::FixRequest),
        (
            of(json!([{"error": {"message": CANARY, "code": 429, "status": "RESOURCE_EXHAUSTED"}}])),
            Remedy::Retry,
        ),
        (of(json!({"type": "error", "error": {"message": CANARY, "code": 400}})), Remedy::FixRequest),
        (
            of(json!({"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "error",
                       "error": {"code": 502, "message": CANARY}}]})),
            Remedy::Retry,
        ),
        (
            of(
                json!({"id": "gen", "object": "chat.completion.chunk", "error": {"code": 400, "message": CANARY},
                      "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
            ),
            Remedy::FixRequest,
        ),
        (format!("event: error\ndata: {}\n\n", json!({"message": CANARY})).into_bytes(), Remedy::Retry),
        (format!("event: error\ndata: {CANARY}\n\n").into_bytes(), Remedy::Retry),
    ] {
        assert_eq!(reported(&body), (remedy, told.clone()), "{}", String::from_utf8_lossy(&body));
    }
}

/// A body is too large in whatever packets it comes, and white space before it counts.
#[test]
fn a_body_beyond_its_bound_is_malformed_in_any_packets() {
    let document =
        format!("{{\"choices\":[{{\"message\":{{\"content\":\"{}\"}}}}]}}", "x".repeat(SSE_BODY_MAX_BYTES));
    let blank = vec![b' '; SSE_BODY_MAX_BYTES - 8];
    let padded = [&blank[..], b"{\"choices\":[]}"].concat();
    for body in [document.as_bytes(), padded.as_slice()] {
        for size in [usize::MAX, body.len() / 2, 1 << 20] {
            let error = decoded(body.chunks(size)).1;
            assert!(matches!(error, Some(DecodeError::Malformed(MalformedReply::TooLarge))), "{error:?}");
        }
    }
}

/// A reply in one piece with status 200 may be an error, in a list too.
#[test]
fn a_whole_body_may_be_an_error() {
    for body in [
        json!({"error": {"code": 429}}),
        json!([{"error": {"code": 429}}]),
        json!({"message": "", "code": 429}),
    ] {
        let error = decoded([body.to_string().as_bytes()]).1;
        assert!(
            matches!(error, Some(DecodeError::Reported { remedy: Remedy::Retry, .. })),
            "{body}: {error:?}"
        );
    }
    for body in [
        json!({}),
        json!([]),
        json!([1]),
        json!({"choices": null}),
        json!({"choices": []}),
        json!({"choices": 7}),
    ] {
        let error = decoded([body.to_string().as_bytes()]).1;
        let malformed = DecodeError::Malformed(MalformedReply::NotTheDialect);
        assert_eq!(
            format!("{error:?}"),
            format!("{:?}", Some(malformed)),
            "{body}: a reply without an answer is none"
        );
    }
}

/// What tells of the reply, or of nothing, is no error.
#[test]
fn an_event_about_the_reply_is_no_error() {
    for about in [
        json!({"type": "ping"}),
        json!({"message": "warming up"}),
        json!({"choices": [], "message": "x", "code": 400}),
        json!({"code": 200}),
        json!({"error": null, "errors": []}),
        json!({"error": {}}),
        json!({"error": []}),
        json!({"error": 0}),
        json!({"error": "", "detail": ""}),
        json!({"message": "working", "type": "progress"}),
        json!({"message": "working", "status": "running", "code": 0}),
        json!({"message": "ok", "code": "200"}),
        json!({"choices": [], "cost": "0"}),
    ] {
        let all = stream(&[text("a"), about.clone(), end()]);
        let (_, error) = decoded([all.as_slice()]);
        assert!(error.is_none(), "{about}: {error:?}");
    }
}

/// What is not of the dialect is malformed, after the text before it; what breaks off is told from it.
#[test]
fn what_is_not_the_dialect_is_malformed_after_the_text_before_it() {
    for bad in
        ["pong", "{\"choices\": 7}", "[1]", "{\"choices\": [{\"delta\": {\"content\": 7}}]}", "{", "{}}"]
    {
        let all = [stream(&[text("a")]), event(bad)].concat();
        let (chunks, error) = decoded([all.as_slice()]);
        assert_eq!(chunks, [LlmChunk::Text { choice: 0, text: "a".into() }]);
        assert!(matches!(error, Some(DecodeError::Malformed(MalformedReply::NotTheDialect))), "{bad}");
    }
    let cut = [stream(&[text("a")]), b"data: {\"choices\": [{\"del".to_vec()].concat();
    assert!(matches!(decoded([cut.as_slice()]).1, Some(DecodeError::EndedEarly)));
}
