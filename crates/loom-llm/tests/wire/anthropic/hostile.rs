//! Replies that no honest server sends: a typed end, bounded memory, nothing lost in silence.

use loom_llm::DecodeError;
use loom_llm::chunk::TOOL_CALLS_MAX;
use loom_llm::error::{MalformedReply, TURN_VALUES_MAX};
use loom_llm::{LlmChunk, anthropic};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    arguments, close, decode, delta, end, open, said_text, start, stop, stream, text, thinking, tool,
};

fn reason(events: &[Value]) -> Option<MalformedReply> {
    match decode([&*stream(events)]).1 {
        Some(DecodeError::Malformed(reason)) => Some(reason),
        None => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tool_calls_beyond_the_bound_are_malformed() {
    let call = |index: usize| tool(index as u64, "t", json!({}));
    let calls: Vec<_> = (0..TOOL_CALLS_MAX).map(call).collect();
    assert_eq!(reason(&[&calls[..], &[end("tool_use")]].concat()), None);
    let more = [&calls[..], &[call(TOOL_CALLS_MAX), end("tool_use")]].concat();
    assert_eq!(reason(&more), Some(MalformedReply::TooManyToolCalls));
    // Without blocks in between, too: the bound is not that of the block index.
    let same: Vec<_> = (0..=TOOL_CALLS_MAX).map(|_| call(0)).collect();
    assert_eq!(reason(&same), Some(MalformedReply::TooManyToolCalls));
}

#[test]
fn blocks_without_end_are_bounded_and_cost_linear_time() {
    // Each block is followed by a part of the very first one.
    let late = delta(0, json!({"type": "of_tomorrow"}));
    let blocks = (0..4_000).flat_map(|index| [open(index, json!({"type": "x"})), late.clone()]);
    assert_is_bounded(&blocks.collect::<Vec<_>>());
}

#[test]
fn blocks_that_nothing_is_added_to_are_bounded_too() {
    for block in [json!({"type": "x"}), json!({"type": "text", "text": ""}), json!({}), json!(null)] {
        assert_is_bounded(&(0..4_000).map(|index| open(index, block.clone())).collect::<Vec<_>>());
    }
}

/// The events, again and again, are too much for a turn before they are too much for a body.
fn assert_is_bounded(events: &[Value]) {
    let (mut decoder, packet) = (anthropic::decoder("peer"), stream(events));
    let mut pushed = 0;
    let error = loop {
        pushed += packet.len();
        decoder.push(&packet);
        match decoder.next_chunk() {
            Ok(None) if decoder.is_over() => panic!("it is not whole"),
            Ok(None) => {}
            Ok(Some(chunk)) => panic!("{chunk:?}"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, DecodeError::Malformed(MalformedReply::TurnTooLarge)), "{error:?}");
    // A block is kept with its bookkeeping; what stands round it on the wire is several times that.
    assert!(pushed <= 64 * TURN_VALUES_MAX, "{pushed}");
}

/// D20: arguments of which no call can be made are a fault, never an absence.
#[test]
fn arguments_that_belong_to_no_call_or_are_no_text_are_malformed() {
    let text_block = open(0, json!({"type": "text", "text": ""}));
    for events in [
        vec![arguments(0, "{}")],
        vec![text_block, arguments(0, "{}")],
        vec![thinking(0, "a"), arguments(0, "{}")],
        vec![tool(0, "t", json!({})), arguments(1, "{}")],
        vec![
            tool(0, "t", json!({})),
            delta(0, json!({"type": "input_json_delta", "partial_json": {"a": 1}})),
        ],
        vec![tool(0, "t", json!({})), delta(0, json!({"type": "input_json_delta", "partial_json": 7}))],
        vec![tool(0, "t", json!("text")), close(0)],
        vec![tool(0, "t", json!([1])), close(0)],
        vec![tool(0, "t", json!(false)), stop()],
    ] {
        assert_eq!(reason(&events), Some(MalformedReply::NotTheDialect), "{events:?}");
    }
    // Where there is nothing to lose, nothing is wrong.
    assert_eq!(reason(&[arguments(3, ""), tool(0, "t", json!("")), end("tool_use")]), None);
}

#[test]
fn what_is_not_the_dialect_is_malformed_after_the_text_before_it() {
    for bad in ["pong", "[1]", "[[\"message_stop\"]]", "7", "{", "{\"type\":\"message_stop\"}}"] {
        let mut body = stream(&[text(0, "a")]);
        body.extend_from_slice(format!("event: message_stop\ndata: {bad}\n\n").as_bytes());
        let (got, error) = decode([&*body]);
        assert_eq!(got, [said_text("a")]);
        let expected = DecodeError::Malformed(MalformedReply::NotTheDialect);
        assert_eq!(error.map(|error| error.to_string()), Some(expected.to_string()), "{bad}");
    }
}

#[test]
fn half_a_surrogate_pair_is_malformed_and_no_lost_text() {
    let whole = r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d\ude00"}}"#;
    let end = "\n\ndata: {\"type\":\"message_stop\"}\n\n";
    assert_eq!(decode([[whole, end].concat().as_bytes()]).0, [said_text("😀")]);
    for (kind, field) in [
        ("text_delta", "text"),
        ("thinking_delta", "thinking"),
        ("signature_delta", "signature"),
        ("input_json_delta", "partial_json"),
    ] {
        let half = whole
            .replace("\\ude00", "")
            .replace("text_delta", kind)
            .replace("\"text\":", &format!("\"{field}\":"));
        let (got, error) = decode([[&half, end].concat().as_bytes()]);
        assert!(got.is_empty());
        assert!(
            matches!(error, Some(DecodeError::Malformed(MalformedReply::NotTheDialect))),
            "{half}: {error:?}"
        );
    }
}

#[test]
fn fields_of_another_type_count_as_absent() {
    let (got, error) = decode([&*stream(&[
        json!({"type": "message_start", "message": 7, "index": "x"}),
        json!({"type": "message_start", "message": {"id": 7, "content": "none", "usage": []}}),
        json!({"type": "content_block_start", "index": -1, "content_block": "text"}),
        json!({"type": "content_block_start", "index": null, "content_block": {"type": 7, "text": 7}}),
        open(1, json!({"type": "text", "text": ["a"], "citations": 7})),
        json!({"type": "content_block_delta", "index": 1, "delta": ["a"]}),
        delta(1, json!({"type": "text_delta", "text": 7})),
        delta(1, json!({"type": "citations_delta", "citation": 7})),
        delta(1, json!({"type": 7, "text": "a"})),
        open(2, json!({"type": "tool_use", "id": 7, "name": ["f"]})),
        json!({"type": "content_block_stop", "index": "x"}),
        json!({"type": "message_delta", "delta": {"stop_reason": 7}, "usage": 7}),
        json!({"type": "message_delta", "delta": 7, "error": false}),
        json!({"type": "ping", "error": {}}),
        json!({"type": "of_tomorrow", "delta": {"text": "not text"}}),
        stop(),
    ])]);
    assert!(error.is_none(), "{error:?}");
    let (id, name, arguments) = (None, None, String::new());
    let call = LlmChunk::ToolArguments { choice: 0, call: 0, id, name, arguments };
    assert_eq!(got[..2], [said_text("a"), call]);
    assert!(matches!(got[2..], [LlmChunk::Turn(_)]), "of the block of no type: {got:?}");
}

fn event() -> impl Strategy<Value = Value> {
    let index = 0_u64..3;
    let word = prop_oneof![Just(""), Just("a"), Just("{\"k\": "), Just("é😀"), Just("}")];
    prop_oneof![
        (index.clone(), word.clone()).prop_map(|(i, w)| text(i, w)),
        (index.clone(), word.clone()).prop_map(|(i, w)| thinking(i, w)),
        (index.clone(), word).prop_map(|(i, w)| arguments(i, w)),
        index.clone().prop_map(|i| tool(i, "t", json!({"a": 1}))),
        index.clone().prop_map(|i| open(i, json!({"type": "server_tool_use", "input": {}}))),
        index.clone().prop_map(|i| open(i, json!({"type": "thinking", "thinking": "t"}))),
        index.clone().prop_map(|i| open(i, json!({"type": "text"}))),
        index.prop_map(close),
        prop_oneof![Just("m"), Just("n")].prop_map(start),
        prop_oneof![Just("end_turn"), Just("refusal"), Just("")].prop_map(end),
        Just(json!({"type": "ping"})),
    ]
}

proptest! {
    #[test]
    fn any_split_of_any_events_gives_the_same_chunks_and_the_same_end(
        events in prop::collection::vec(event(), 0..12),
        ended in any::<bool>(),
        splits in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut body = stream(&events);
        body.extend(if ended { stream(&[stop()]) } else { Vec::new() });
        let mut splits: Vec<usize> =
            splits.iter().map(|split| split.index(body.len() + 1)).collect();
        splits.extend([0, body.len()]);
        splits.sort_unstable();
        let (whole, error) = decode([&*body]);
        let error = format!("{error:?}");
        let (got, split_error) = decode(splits.windows(2).map(|pair| &body[pair[0]..pair[1]]));
        prop_assert_eq!((got, format!("{split_error:?}")), (whole.clone(), error.clone()));
        let (got, split_error) = decode(body.chunks(1));
        prop_assert_eq!((got, format!("{split_error:?}")), (whole, error));
    }

    #[test]
    fn no_text_is_lost_and_none_is_invented(events in prop::collection::vec(event(), 0..12)) {
        // Without blocks of the provider's own, whose text is none, and within one message.
        let ours = |event: &Value| {
            event["type"] != "message_start" && event["content_block"]["type"] != "server_tool_use"
        };
        let events: Vec<_> = events.into_iter().filter(ours).chain([stop()]).collect();
        let (got, error) = decode([&*stream(&events)]);
        let sent: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
        let got: String = got.iter().filter_map(|chunk| match chunk {
            LlmChunk::Text { text, .. } => Some(text.as_str()),
            _ => None,
        }).collect();
        if error.is_none() {
            prop_assert_eq!(got, sent);
        } else {
            prop_assert!(sent.starts_with(&got));
        }
    }
}
