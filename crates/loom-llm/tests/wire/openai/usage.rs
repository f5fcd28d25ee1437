//! Usage: wherever it stands, as it was reported, and kept when the reply fails.

use loom_llm::decoder::DecodeError;
use loom_llm::{LlmChunk, Usage};
use serde_json::{Value, json};

use super::{decoded_events, end, finish, reply, text};

fn tokens(input: u64, output: u64) -> Value {
    json!({"prompt_tokens": input, "completion_tokens": output})
}

/// Complaint 3, a last event with usage and no choices breaks the stream, and usage anywhere else is missed; D3: it is
/// as the provider reported it, the last that says anything, and absent when unknown.
#[test]
fn usage_is_found_wherever_it_stands_and_never_invented() {
    let usage = |input, output| Some(Usage::new(input, output));
    for (events, expected) in [
        (vec![json!({"choices": [], "usage": tokens(1, 2)})], usage(1, 2)),
        (vec![json!({"choices": null, "usage": tokens(1, 2)})], usage(1, 2)),
        (vec![json!({"usage": tokens(1, 2)})], usage(1, 2)),
        (
            vec![json!({"choices": [], "usage": tokens(1, 2)}), json!({"choices": [], "cost": "0"})],
            usage(1, 2),
        ),
        (
            vec![json!({"usage": tokens(1, 1)}), json!({"usage": tokens(1, 9)}), json!({"usage": {}})],
            usage(1, 9),
        ),
        (vec![json!({"choices": [{"delta": {}, "usage": tokens(3, 4)}]})], usage(3, 4)),
        (vec![json!({"x_groq": {"usage": tokens(5, 6)}, "usage": null})], usage(5, 6)),
        (vec![json!({"x_groq": {"id": "req"}}), json!({"usage": tokens(5, 6)})], usage(5, 6)),
        (
            vec![json!({"usage": {"completion_tokens": 0}})],
            Some(Usage { input_tokens: None, output_tokens: Some(0) }),
        ),
        (
            vec![json!({"usage": {"prompt_tokens": 4}}), json!({"usage": {"completion_tokens": 5}})],
            usage(4, 5),
        ),
        (vec![json!({"usage": "none"}), json!({"usage": {"prompt_tokens": "many"}}), json!({})], None),
        (vec![json!({"usage": {"prompt_tokens": -1, "completion_tokens": 1.5}})], None),
    ] {
        // Before the text, with it, and behind the end.
        for at in 0..3 {
            let mut all = vec![text("a"), end()];
            all.splice(at..at, events.clone());
            let reply = reply(&all);
            assert_eq!((reply.usage, reply.text.as_str()), (expected, "a"), "{events:?} at {at}");
        }
    }
}

/// Complaint 3: usage that comes with every piece counts up to its last, and pieces of other choices bring theirs.
#[test]
fn usage_with_every_piece_is_the_last() {
    let piece = |output: u64| json!({"choices": [{"delta": {"content": "a"}}], "usage": tokens(7, output)});
    let reply = reply(&[piece(1), piece(2), piece(3), finish("stop")]);
    assert_eq!((reply.text.as_str(), reply.usage), ("aaa", Some(Usage::new(7, 3))));
}

/// Complaint 3: a 0 in a later event takes back nothing that was counted, and each figure is kept for itself.
#[test]
fn a_figure_that_was_counted_is_not_taken_back() {
    for later in
        [tokens(0, 0), json!({"prompt_tokens": 0}), json!({"completion_tokens": null, "prompt_tokens": 7})]
    {
        let reply = reply(&[text("a"), json!({"usage": tokens(7, 9)}), json!({"usage": later}), end()]);
        assert_eq!(reply.usage, Some(Usage::new(7, 9)), "{later}");
    }
    let counted = reply(&[json!({"usage": tokens(0, 0)}), json!({"usage": tokens(7, 9)}), end()]);
    assert_eq!(counted.usage, Some(Usage::new(7, 9)));
}

/// Complaint 10, usage is lost when the reply fails: it comes out before the error, even where both are one event, and
/// the text of that event does not.
#[test]
fn usage_in_the_event_that_fails_is_kept() {
    for failing in [
        json!({"error": {"code": 502}, "usage": tokens(8, 3),
               "choices": [{"delta": {"content": "half"}, "finish_reason": "error"}]}),
        json!({"error": "gone", "x_groq": {"usage": tokens(8, 3)}}),
        json!({"choices": [{"usage": tokens(8, 3), "delta": {}}, {"delta": {"tool_calls": [
            {"function": {"name": "f", "arguments": 7}}]}}]}),
    ] {
        let (chunks, error) = decoded_events(&[text("a"), failing.clone()]);
        assert!(error.is_some());
        let expected = [LlmChunk::Text { choice: 0, text: "a".into() }, LlmChunk::Usage(Usage::new(8, 3))];
        assert_eq!(chunks, expected, "{failing}");
    }
}

/// Complaint 10: a reply that its server broke off is an error that comes after all it told, trailing usage too.
#[test]
fn a_reply_that_was_broken_off_is_an_error_with_its_usage() {
    for reason in ["error", "abort", "network_error", "insufficient_system_resource"] {
        let trailing = json!({"choices": [], "usage": tokens(8, 3)});
        let (chunks, error) = decoded_events(&[text("a"), finish(reason), trailing]);
        assert!(
            matches!(error, Some(DecodeError::Reported { remedy: loom_llm::Remedy::Retry, .. })),
            "{reason}"
        );
        assert_eq!(chunks.last(), Some(&LlmChunk::Usage(Usage::new(8, 3))));
    }
}
