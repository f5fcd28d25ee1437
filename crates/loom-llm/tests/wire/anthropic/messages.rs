//! Where a message begins and ends, what it cost, and why it ended.

use loom_llm::error::MalformedReply;
use loom_llm::{DecodeError, LlmChunk, Remedy, Usage};
use serde_json::{Value, json};

use super::{
    arguments, calls, chunks, close, decode, end, finish, fold, open, reply, said_text, start, stop, stream,
    text, thinking, tool, turn,
};

fn starting(id: Value, usage: Value) -> Value {
    json!({"type": "message_start", "message": {"id": id, "usage": usage}})
}

fn ending(reason: Value, usage: Value) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
}

/// D3: figures of the start stay until the end tells others; totals, never sums; absent where unknown.
#[test]
fn usage_of_the_start_is_merged_with_that_of_the_end_figure_by_figure() {
    let usage = |input_tokens, output_tokens| Some(Usage { input_tokens, output_tokens });
    let tokens = |input: u64, output: u64| json!({"input_tokens": input, "output_tokens": output});
    for (begin, ends, expected) in [
        (tokens(17, 1), vec![json!({"output_tokens": 227})], usage(Some(17), Some(227))),
        (tokens(17, 1), vec![tokens(20, 5), json!({"output_tokens": 9})], usage(Some(20), Some(9))),
        (tokens(17, 1), vec![Value::Null], usage(Some(17), Some(1))),
        (json!({"output_tokens": 0}), vec![json!({})], usage(None, Some(0))),
        (json!({"input_tokens": "many", "output_tokens": 1.5}), vec![json!("none")], None),
        (Value::Null, vec![json!({"cache_read_input_tokens": 5})], None),
    ] {
        let ends: Vec<_> = ends.into_iter().map(|usage| ending(json!("end_turn"), usage)).collect();
        let events = [vec![starting(json!("m"), begin)], ends, vec![stop()]].concat();
        assert_eq!(reply(&events).usage, expected, "{events:?}");
    }
}

/// D3: the usage of the start is told at once, so that a stream that breaks keeps it.
#[test]
fn usage_is_told_as_soon_as_it_is_known() {
    let got = chunks(&[
        starting(json!("m"), json!({"input_tokens": 3, "output_tokens": 1})),
        text(0, "a"),
        ending(json!("max_tokens"), json!({"output_tokens": 8})),
        stop(),
    ]);
    let usage = |output| LlmChunk::Usage(Usage::new(3, output));
    assert_eq!(got, [usage(1), said_text("a"), finish("max_tokens"), usage(8)]);
}

#[test]
fn a_message_that_is_announced_twice_is_one() {
    let tokens = |input: u64| json!({"input_tokens": input, "output_tokens": 1});
    for ids in [[json!("m"), json!("m")], [json!(null), json!(null)], [json!("m"), json!(7)]] {
        let [first, second] = ids.map(|id| starting(id, tokens(5)));
        let got = chunks(&[first, second, text(0, "a"), end("end_turn"), stop()]);
        let usage = || LlmChunk::Usage(Usage::new(5, 1));
        assert_eq!(got, [usage(), usage(), said_text("a"), finish("end_turn")]);
    }
    let twice =
        [start("m"), text(0, "a"), starting(json!("m"), tokens(9)), text(0, "b"), end("end_turn"), stop()];
    let got = reply(&twice);
    assert_eq!((got.text.as_str(), got.usage), ("ab", Some(Usage::new(9, 1))));
}

#[test]
fn a_second_message_takes_the_place_of_one_that_has_sent_no_text() {
    let first = [
        starting(json!("one"), json!({"input_tokens": 4, "output_tokens": 1})),
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        thinking(0, "old"),
        close(0),
        tool(1, "old", json!({})),
        arguments(1, "{\"cut"),
        end("tool_use"),
    ];
    let second = [
        start("two"),
        open(0, json!({"type": "redacted_thinking", "data": "d"})),
        tool(1, "new", json!({})),
        arguments(1, "{}"),
        close(1),
    ];
    let events = [&first[..], &second[..], &[end("tool_use"), stop()]].concat();
    let got = chunks(&events);
    assert!(got.contains(&LlmChunk::Superseded));
    let got = fold(got);
    assert_eq!(calls(&got), [("new", "f", "{}")], "positions begin anew");
    assert_eq!((got.reasoning.as_str(), got.usage), ("", Some(Usage::new(4, 1))), "what was spent was spent");
    assert_eq!(turn(&got).unwrap().len(), 2, "nothing of the first message is sent back");
    // The end of the first message is not that of the second.
    let cut = [&first[..], &second[..]].concat();
    assert!(matches!(decode([&*stream(&cut)]).1, Some(DecodeError::EndedEarly)));
    // Without ids a message that comes after blocks is another one.
    let nameless = starting(Value::Null, Value::Null);
    assert!(chunks(&[nameless.clone(), first[1].clone(), nameless, stop()]).contains(&LlmChunk::Superseded));
}

#[test]
fn a_second_message_after_text_of_the_first_is_a_fault() {
    let with_text = open(0, json!({"type": "text", "text": "a"}));
    for first in [text(0, "a"), with_text] {
        let events = [start("one"), first, start("two"), text(0, "a"), end("end_turn"), stop()];
        let (got, error) = decode([&*stream(&events)]);
        assert_eq!(got, [said_text("a")]);
        assert!(matches!(error, Some(DecodeError::Malformed(MalformedReply::Spliced))), "{error:?}");
    }
}

#[test]
fn a_refusal_is_declined_with_its_explanation_and_without_text() {
    let details = json!({"type": "refusal", "category": "cyber", "explanation": "not this"});
    for (details, explanation) in
        [(details, Some("not this")), (json!({"explanation": null}), None), (json!("?"), None)]
    {
        let refused = json!({"type": "message_delta",
            "delta": {"stop_reason": "refusal", "stop_details": details}, "usage": null});
        let got = chunks(&[start("m"), json!({"type": "ping"}), refused, stop()]);
        let explanation = explanation.map(str::to_owned);
        assert_eq!(got, [finish("refusal"), LlmChunk::Declined { choice: 0, explanation }]);
        assert!(fold(got).declined);
    }
}

#[test]
fn a_stream_is_whole_with_a_stop_reason_or_its_end_event_and_cut_without_either() {
    let a = [start("m"), text(0, "a")];
    for whole in [vec![end("end_turn")], vec![stop()], vec![end("of_tomorrow")], vec![end(""), stop()]] {
        assert_eq!(reply(&[&a[..], &whole[..]].concat()).text, "a", "{whole:?}");
    }
    let mut late = stream(&[&a[..], &[end("end_turn"), stop()]].concat());
    late.extend_from_slice(b"data: {\"type\": \"content_block_delta\", \"delta\": {\"text\": \"late\"}}\n\n");
    let (got, error) = decode([&*late]);
    assert!(error.is_none());
    assert_eq!(got, [said_text("a"), finish("end_turn")]);
    let mut cut = stream(&a);
    cut.extend_from_slice(b"data: {\"type\": \"content_block_delta\", \"del");
    for cut in
        [stream(&a), stream(&[&a[..], &[end("")]].concat()), cut, Vec::new(), b"data: [DONE]\n\n".to_vec()]
    {
        let (_, error) = decode([&*cut]);
        assert!(matches!(error, Some(DecodeError::EndedEarly)), "{error:?}");
    }
}

#[test]
fn an_error_inside_a_stream_is_typed_and_its_words_stay_apart() {
    let canary = "canary-in-the-error";
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": canary}}).to_string();
    for (name, data, remedy) in [
        ("error", error("overloaded_error"), Remedy::Retry),
        ("", error("overloaded_error"), Remedy::Retry),
        ("error", error("api_error"), Remedy::Retry),
        ("error", error("rate_limit_error"), Remedy::Retry),
        ("error", error("timeout_error"), Remedy::Retry),
        ("error", error("invalid_request_error"), Remedy::FixRequest),
        ("error", error("request_too_large"), Remedy::FixRequest),
        ("error", error("not_found_error"), Remedy::FixRequest),
        ("error", error("authentication_error"), Remedy::GiveUp),
        ("error", error("permission_error"), Remedy::GiveUp),
        ("error", error("billing_error"), Remedy::GiveUp),
        // Middle boxes: another shape, without a type, with the name of the event alone.
        ("", json!({"error": {"message": canary, "code": 503}}).to_string(), Remedy::Retry),
        ("message_delta", json!({"error": canary}).to_string(), Remedy::Retry),
        ("error", json!({"message": canary}).to_string(), Remedy::Retry),
    ] {
        let mut body = stream(&[start("m"), text(0, "a")]);
        body.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
        let (got, error) = decode([&*body]);
        assert_eq!(got, [said_text("a")]);
        let Some(DecodeError::Reported { remedy: told, message, .. }) = &error else { panic!("{error:?}") };
        assert_eq!((*told, message.as_ref().unwrap().expose_tainted().as_str()), (remedy, canary), "{data}");
        assert!(!format!("{error:?}").contains(canary));
    }
}
