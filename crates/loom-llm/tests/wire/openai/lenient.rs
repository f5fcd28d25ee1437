//! What servers leave out, add, or fill with another type.

use loom_llm::LlmChunk;
use serde_json::json;

use super::{decoded, decoded_events, delta, end, finish, fold, reply, stream, text};
use crate::peer::event;

/// Complaint 4, an unknown or empty finish reason ends the stream: it is kept as text, and an empty one ends nothing.
#[test]
fn finish_reasons_are_kept_as_text_and_an_empty_one_ends_nothing() {
    let piece = |reason: serde_json::Value| json!({"choices": [{"delta": {"content": "a"}, "finish_reason": reason}]});
    let whole = reply(&[piece(json!("")), piece(json!(null)), piece(json!("tired")), piece(json!(""))]);
    assert_eq!((whole.text.as_str(), whole.finish_reason.as_deref()), ("aaaa", Some("tired")));
    let (chunks, error) = decoded_events(&[piece(json!(""))]);
    assert_eq!(fold(chunks).finish_reason.as_deref(), Some(""));
    assert!(matches!(error, Some(loom_llm::DecodeError::EndedEarly)));
    for odd in [json!(7), json!({"reason": "stop"}), json!(["stop"])] {
        assert_eq!(reply(&[piece(odd), end()]).finish_reason.as_deref(), Some("stop"));
    }
}

/// Complaint 4, a missing `object`, `id`, `model` or `usage: {}` ends the stream: every field but the delta may be
/// missing, null, unknown or of another type.
#[test]
fn every_field_but_the_delta_may_be_missing_null_or_strange() {
    for event in [
        json!({"choices": [{"delta": {"content": "a"}}]}),
        json!({"id": null, "object": null, "created": null, "model": null, "usage": null,
               "choices": [{"index": null, "delta": {"role": null, "content": "a"}, "finish_reason": null}]}),
        json!({"id": 7, "object": [], "created": "now", "usage": {}, "system_fingerprint": {}, "x_groq": 1,
               "choices": [{"index": "0", "delta": {"role": 1, "content": "a", "refusal": 7, "reasoning": {},
                            "reasoning_content": [], "reasoning_details": "none"}, "logprobs": 1}]}),
        json!({"error": null, "choices": [{"delta": {"content": "a", "tool_calls": null, "function_call": null},
               "message": null, "error": null, "matched_stop": 3}]}),
        json!({"error": "", "choices": [{"delta": {"content": "a", "tool_calls": []}}]}),
        json!({"error": false, "choices": [{"delta": {"content": [{"type": "image"}, {"type": "text", "text": "a"}]}}]}),
    ] {
        assert_eq!(reply(&[event.clone(), end()]).text, "a", "{event}");
    }
    for nothing in [
        json!({}),
        json!({"choices": null}),
        json!({"choices": []}),
        json!({"choices": [{}]}),
        json!({"choices": [{"delta": null}]}),
        json!({"choices": [{"delta": {"content": null}}]}),
        json!({"choices": {}}),
        json!({"choices": [null]}),
        json!({"choices": [{"delta": [], "message": ""}]}),
        json!({"choices": [{"delta": {"content": {}}}]}),
        json!({"choices": [{"delta": {"content": [null, "", {}]}}]}),
        json!(null),
    ] {
        assert_eq!(reply(&[text("a"), nothing.clone(), end()]).text, "a", "{nothing}");
    }
}

/// D20: text, reasoning and refusals are kinds of their own in every form they come in.
#[test]
fn content_may_be_text_or_a_list_of_parts() {
    let parts = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "so "}, "it "]},
        {"type": "thinking", "thinking": "is. "},
        {"type": "reasoning", "text": "Sure."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": " Yes."}], "content": null},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": " So"}]},
        {"type": "reasoning_text", "text": "."},
        {"type": "text", "text": "Hi"},
        {"type": "output_text", "text": ", "},
        "you",
        {"type": "refusal", "refusal": "no"},
        {"type": "reference", "reference_ids": [1]},
    ]);
    let reply =
        reply(&[delta(json!({"content": parts})), delta(json!({"content": "!", "refusal": "pe"})), end()]);
    let found = (reply.reasoning.as_str(), reply.text.as_str(), reply.refusal.as_str());
    assert_eq!(found, ("so it is. Sure. Yes. So.", "Hi, you!", "nope"));
    assert!(reply.declined);
}

/// Choices that nobody asked for are told apart, and their end is not the reply's.
#[test]
fn only_the_end_of_choice_zero_is_the_end() {
    let choice = |index: u32, text: &str, reason: Option<&str>| json!({"index": index, "delta": {"content": text}, "finish_reason": reason});
    let both = json!({"choices": [choice(1, "b", Some("stop")), choice(0, "a", None)]});
    let (chunks, error) = decoded_events(std::slice::from_ref(&both));
    assert!(chunks.contains(&LlmChunk::Text { choice: 1, text: "b".into() }));
    assert!(matches!(error, Some(loom_llm::DecodeError::EndedEarly)), "choice 0 was cut");
    let whole = reply(&[both, json!({"choices": [choice(0, "!", Some("stop"))]})]);
    assert_eq!(whole.text, "a!");
    let unnumbered = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}, {"delta": {"content": "b"}}]});
    assert_eq!(reply(&[unnumbered]).text, "a", "without an index the place counts");
}

/// Nothing is read behind the end mark, and the mark may be written loosely.
#[test]
fn the_end_mark_ends_the_reply() {
    for mark in ["data: [DONE]\n\n", "data:[DONE]\r\n\r\n", "data:  [DONE] \n\n", "data: [DONE]"] {
        let body = [event(&text("a").to_string()), mark.as_bytes().to_vec()].concat();
        let (chunks, error) = decoded([body.as_slice()]);
        assert!(error.is_none() && fold(chunks).text == "a", "{mark:?}");
    }
    let trailing =
        [stream(&[text("a"), end()]), event("[DONE]"), event("{\"choices\":[],\"cost\":\"0\"}"), event("?")];
    let (chunks, error) = decoded([trailing.concat().as_slice()]);
    assert!(error.is_none() && fold(chunks).text == "a");
    let unmarked = [text("a"), finish("stop"), json!({"choices": [], "cost": "0"})];
    assert_eq!(reply(&unmarked).text, "a", "nor need there be a mark");
}

/// Complaint 4: an object in the place of a list is a list of one.
#[test]
fn one_part_may_stand_without_its_list() {
    for content in [json!({"type": "text", "text": "a"}), json!({"text": "a"}), json!([["a"]])] {
        assert_eq!(reply(&[delta(json!({"content": content})), end()]).text, "a");
    }
    assert_eq!(reply(&[json!({"choices": {"delta": {"content": "a"}, "finish_reason": "stop"}})]).text, "a");
}

/// Complaint 4, a key that comes twice ends the stream: the last value that is one counts, in every object.
#[test]
fn a_field_that_comes_twice_counts_as_its_last_value() {
    let body = r#"{"usage":{"prompt_tokens":1,"prompt_tokens":2},"usage":null,"choices":[{"delta":{"content":"b","content":"a",
        "tool_calls":[{"id":"x","id":null,"function":{"name":"g","name":"f","arguments":"1","arguments":"{}"}}]},"delta":null,
        "finish_reason":"length","finish_reason":"stop"}],"choices":null}"#;
    for body in [event(&body.replace('\n', "")), body.replace("delta", "message").into_bytes()] {
        let (chunks, error) = decoded([body.as_slice()]);
        assert!(error.is_none(), "{error:?}");
        let reply = fold(chunks);
        assert_eq!((reply.text.as_str(), reply.finish_reason.as_deref()), ("a", Some("stop")));
        assert_eq!(super::calls(&reply), [("x", "f", "{}")]);
        assert_eq!(reply.usage.and_then(|usage| usage.input_tokens), Some(2));
    }
}

/// Complaint 8: what only a message says is taken from it, beside deltas that say something else or nothing.
#[test]
fn a_message_beside_deltas_adds_what_they_have_not_said() {
    let last = |message: serde_json::Value| json!({"choices": [{"delta": {}, "message": message, "finish_reason": "stop"}]});
    let call = json!([{"id": "x", "function": {"name": "f", "arguments": "{}"}}]);
    for before in [vec![], vec![delta(json!({"role": "assistant", "content": ""}))], vec![text("a")]] {
        let all = [
            before,
            vec![last(json!({"content": "a", "reasoning": "r", "refusal": "no", "tool_calls": call}))],
        ];
        let reply = reply(&all.concat());
        assert_eq!((reply.text.as_str(), reply.reasoning.as_str(), reply.refusal.as_str()), ("a", "r", "no"));
        assert_eq!(super::calls(&reply), [("x", "f", "{}")]);
    }
    let said = [delta(json!({"reasoning": "r", "tool_calls": call})), text("a")];
    let again = last(json!({"content": "a", "reasoning": "r", "tool_calls": call}));
    let reply = reply(&[said.to_vec(), vec![again]].concat());
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("a", "r"));
    assert_eq!(super::calls(&reply), [("x", "f", "{}")]);
}

/// Each choice is a reply of its own: what one has said is no repeat in another.
#[test]
fn what_one_choice_says_is_no_repeat_of_another() {
    let message = json!({"choices": [{"index": 1, "message": {"content": "b"}}]});
    let (chunks, _) = decoded_events(&[text("a"), message]);
    assert!(chunks.contains(&LlmChunk::Text { choice: 1, text: "b".into() }));
}

/// Content nested without end takes no stack.
#[test]
fn content_is_read_to_a_stated_depth() {
    let nested = |depth: usize| format!("{}\"a\"{}", "[".repeat(depth), "]".repeat(depth));
    let event_of = |depth| {
        event(&format!(
            r#"{{"choices":[{{"delta":{{"content":{}}},"finish_reason":"stop"}}]}}"#,
            nested(depth)
        ))
    };
    assert!(decoded([event_of(4).as_slice()]).1.is_none());
    for depth in [9, 100_000] {
        assert!(matches!(decoded([event_of(depth).as_slice()]).1, Some(loom_llm::DecodeError::Malformed(_))));
    }
}
