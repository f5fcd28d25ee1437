//! Tool calls: which part belongs to which call, and that every byte of every call arrives.

use loom_llm::LlmChunk;
use loom_llm::chunk::TOOL_CALLS_MAX;
use loom_llm::decoder::DecodeError;
use loom_llm::error::MalformedReply;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{calls, decoded, decoded_events, delta, end, failure, finish, fold, reply, tool};
use crate::peer::event;

/// Complaint 5, parts without an index are lost or merged: by id, then by order.
#[test]
fn without_an_index_the_id_tells_calls_apart_and_without_both_their_order() {
    let reply = reply(&[
        tool(json!({"id": "a", "function": {"name": "f", "arguments": "{\"x\":"}})),
        tool(json!({"id": "b", "function": {"name": "g", "arguments": "{}"}})),
        tool(json!({"id": "a", "function": {"arguments": "1}"}})),
        delta(json!({"tool_calls": [{"function": {"name": "y", "arguments": "3"}},
                                    {"function": {"name": "z", "arguments": "4"}}]})),
        tool(json!({"function": {"arguments": "5"}})),
        end(),
    ]);
    assert_eq!(calls(&reply), [("a", "f", "{\"x\":1}"), ("b", "g", "{}"), ("", "y", "3"), ("", "z", "45")]);
}

/// Complaint 6, arguments that come before the id are dropped: the call exists from its first part on.
#[test]
fn arguments_before_the_id_and_the_name_belong_to_their_call() {
    let reply = reply(&[
        tool(json!({"index": 1, "function": {"arguments": "{\"a\""}})),
        tool(json!({"index": 0, "id": "first", "function": {"name": "ls", "arguments": "{"}})),
        tool(json!({"index": 1, "id": "second", "function": {"arguments": ":1"}})),
        tool(json!({"index": 1, "function": {"name": "cat", "arguments": "}"}})),
        tool(json!({"index": 0, "id": "", "function": {"name": "", "arguments": "}"}})),
        end(),
    ]);
    assert_eq!(calls(&reply), [("second", "cat", "{\"a\":1}"), ("first", "ls", "{}")]);
}

/// Complaint 6, pieces that repeat what came before are taken for repeats: each is appended as it is.
#[test]
fn pieces_that_look_like_repeats_are_kept() {
    let part = |arguments: &str| tool(json!({"index": 0, "function": {"arguments": arguments}}));
    let open = tool(json!({"index": 0, "id": "a", "function": {"name": "sh", "arguments": "l"}}));
    let reply = reply(&[open, part("l -l"), part("l -l"), part(" "), part(" "), end()]);
    assert_eq!(reply.tool_calls[0].arguments, "ll -ll -l  ");
}

proptest! {
    /// Complaint 6: however arguments are cut into pieces and interleaved, each call's are its pieces joined.
    #[test]
    fn arguments_are_their_pieces_joined(parts in prop::collection::vec((0..4_u64, "[a-c{}\" é]{0,4}"), 0..24)) {
        let mut events: Vec<_> = (0..4).map(|index| {
            tool(json!({"index": index, "id": format!("id{index}"), "function": {"name": "f", "arguments": ""}}))
        }).collect();
        let mut expected = vec![String::new(); 4];
        for (index, arguments) in &parts {
            expected[*index as usize] += arguments;
            events.push(tool(json!({"index": index, "function": {"arguments": arguments}})));
        }
        events.push(end());
        let arguments: Vec<_> = reply(&events).tool_calls.into_iter().map(|call| call.arguments).collect();
        prop_assert_eq!(arguments, expected);
    }
}

/// Complaint 7, all parallel calls but the last are lost: whole calls in one event, one an event, and interleaved.
#[test]
fn parallel_calls_are_all_kept_in_the_order_of_their_first_part() {
    let part = |index: u64, arguments: &str| json!({"index": index, "id": format!("id{index}"), "function": {"name": "f", "arguments": arguments}});
    let expected: Vec<_> = (0..5).map(|index| (format!("id{index}"), format!("{{\"n\":{index}}}"))).collect();
    let whole: Vec<_> = (0..5).map(|index| part(index, &format!("{{\"n\":{index}}}"))).collect();
    let at_once = vec![delta(json!({"tool_calls": whole}))];
    let each: Vec<Value> = whole.iter().cloned().map(tool).collect();
    let halves = (0..5)
        .map(|index| part(index, "{\"n\":"))
        .chain((0..5).map(|index| part(index, &format!("{index}}}"))));
    for mut events in [at_once, each, halves.map(tool).collect()] {
        events.push(finish("tool_calls"));
        let reply = reply(&events);
        let found: Vec<_> =
            calls(&reply).iter().map(|(id, _, args)| (id.to_string(), args.to_string())).collect();
        assert_eq!(found, expected);
    }
}

/// Complaint 7: servers that give every call the index 0 are understood by the id, or without ids by the name, that a
/// further call brings.
#[test]
fn calls_that_share_an_index_are_told_apart() {
    let whole = |id: Value, name: &str, arguments: &str| {
        tool(json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}))
    };
    let by_id = reply(&[
        whole("a".into(), "f", "{\"n\":1}"),
        whole("b".into(), "f", ""),
        tool(json!({"index": 0, "id": "", "function": {"arguments": "{\"n\":"}})),
        tool(json!({"index": 0, "function": {"arguments": "2}"}})),
        whole("c".into(), "g", "{}"),
        end(),
    ]);
    assert_eq!(calls(&by_id), [("a", "f", "{\"n\":1}"), ("b", "f", "{\"n\":2}"), ("c", "g", "{}")]);
    let by_name = reply(&[whole(Value::Null, "f", "{}"), whole(Value::Null, "g", "{}"), end()]);
    assert_eq!(calls(&by_name), [("", "f", "{}"), ("", "g", "{}")]);
}

/// Complaint 7: calls of one tool that share an index and have no id are told apart by the list that they stand in, and
/// across events by the end of the arguments before.
#[test]
fn calls_of_one_tool_without_any_key_are_told_apart() {
    let part =
        |arguments: &str| json!({"index": 0, "id": "", "function": {"name": "f", "arguments": arguments}});
    let listed =
        |arguments: [&str; 2]| vec![delta(json!({"tool_calls": arguments.map(part)})), finish("tool_calls")];
    let each = ["{\"n\":", "\"}\\\"\"", "}", " ", "{\"n\":2}", "\n"].map(|arguments| tool(part(arguments)));
    for (events, expected) in [
        (listed(["{\"n\":1}", "{\"n\":2}"]), ["{\"n\":1}", "{\"n\":2}"]),
        (listed(["", ""]), ["", ""]),
        ([each.to_vec(), vec![end()]].concat(), ["{\"n\":\"}\\\"\"} ", "{\"n\":2}\n"]),
    ] {
        assert_eq!(calls(&reply(&events)), expected.map(|arguments| ("", "f", arguments)), "{events:?}");
    }
    let without_an_id = tool(json!({"index": 0, "function": {"name": "f", "arguments": "{}"}}));
    let reply = reply(&[tool(part("{")), tool(part("}")), without_an_id.clone(), without_an_id, end()]);
    assert_eq!(calls(&reply), [("", "f", "{}"); 3]);
}

/// Complaint 7: a call that is told twice under one id does not become two, nor one with arguments that it never had.
#[test]
fn a_call_that_is_told_twice_under_its_id_is_never_another_valid_call() {
    let whole = tool(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"n\":1}"}}));
    let reply = reply(&[whole.clone(), whole, end()]);
    assert_eq!(calls(&reply), [("a", "f", "{\"n\":1}{\"n\":1}")]);
    assert!(reply.tool_calls[0].read_arguments().is_err());
}

/// Complaint 7: another tool is another call, whatever key the two share.
#[test]
fn a_part_that_names_another_tool_opens_a_call() {
    let part = |key: Value, name: &str| {
        let mut part = json!({"function": {"name": name, "arguments": "{}"}});
        part.as_object_mut().unwrap().append(&mut key.as_object().unwrap().clone());
        tool(part)
    };
    for key in [json!({"id": "0"}), json!({"index": 0, "id": "null"}), json!({"index": 0}), json!({})] {
        let reply = reply(&[part(key.clone(), "f"), part(key.clone(), "g"), end()]);
        let named: Vec<_> = calls(&reply).iter().map(|call| (call.1, call.2)).collect();
        assert_eq!(named, [("f", "{}"), ("g", "{}")], "{key}");
    }
}

/// Complaint 7: in a reply in one piece each element of the list is a call, whatever keys it has.
#[test]
fn each_element_of_a_whole_reply_is_a_call() {
    for key in [
        json!({"id": "null"}),
        json!({"id": "0", "index": 0}),
        json!({"index": 0}),
        json!({"id": ""}),
        json!({}),
    ] {
        let mut call = json!({"type": "function", "function": {"name": "f", "arguments": "{}"}});
        call.as_object_mut().unwrap().append(&mut key.as_object().unwrap().clone());
        let message = json!({"content": null, "tool_calls": [call, call, call]});
        let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        let (chunks, error) = decoded([body.to_string().as_bytes()]);
        assert!(error.is_none());
        let reply = fold(chunks);
        assert_eq!(reply.tool_calls.len(), 3, "{key}");
        assert!(calls(&reply).iter().all(|call| (call.1, call.2) == ("f", "{}")), "{key}");
    }
}

/// Complaint 5: a list that holds nothing, in any form, calls no tool, and one call may stand without its list.
#[test]
fn a_part_that_says_nothing_opens_no_call() {
    for nothing in [
        json!({"function_call": {}}),
        json!({"function_call": ""}),
        json!({"function_call": {"name": "", "arguments": ""}}),
        json!({"tool_calls": [{}]}),
        json!({"tool_calls": [null]}),
        json!({"tool_calls": {}}),
        json!({"tool_calls": ""}),
        json!({"tool_calls": false}),
        json!({"tool_calls": [{"index": 0, "id": "", "function": {"name": null, "arguments": ""}}]}),
    ] {
        let reply = reply(&[delta(nothing.clone()), super::text("a"), end()]);
        assert_eq!((calls(&reply), reply.text.as_str()), (vec![], "a"), "{nothing}");
    }
    let call = json!({"id": "a", "function": {"name": "f", "arguments": "{}"}});
    let reply = reply(&[delta(json!({"tool_calls": call})), end()]);
    assert_eq!(calls(&reply), [("a", "f", "{}")]);
}

/// Complaint 6: an id that changes from part to part, without naming a tool again, changes no call; who listens to the
/// pieces hears one id and one name a call.
#[test]
fn an_unstable_id_or_a_repeated_name_opens_no_call() {
    let part = |id: &str, name: Option<&str>, arguments: &str| {
        tool(json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}))
    };
    let events = [
        part("a", Some("f"), ""),
        part("b", None, "{\"x\""),
        part("c", None, ":1"),
        part("a", Some("f"), "}"),
        end(),
    ];
    let (chunks, error) = decoded_events(&events);
    assert!(error.is_none());
    let told = |chunk: &LlmChunk| match chunk {
        LlmChunk::ToolArguments { id, name, .. } => usize::from(id.is_some()) + usize::from(name.is_some()),
        _ => 0,
    };
    assert_eq!(chunks.iter().map(told).collect::<Vec<_>>(), [2, 0, 0, 0, 0]);
    assert_eq!(calls(&fold(chunks)), [("a", "f", "{\"x\":1}")]);
}

/// Complaint 8, streamed tool calls never reach the agent: in the last event, behind the finish reason, in a final
/// message after the deltas, and in the form of before tools.
#[test]
fn tool_calls_reach_the_reply_wherever_they_stand() {
    let call = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}});
    let with_reason = json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let message =
        json!({"choices": [{"message": {"content": "so", "tool_calls": [call]}, "finish_reason": "stop"}]});
    for events in [
        vec![with_reason],
        vec![finish("tool_calls"), tool(call.clone())],
        vec![super::text("so"), message],
        vec![delta(json!({"content": "so"})), delta(json!({"content": null, "tool_calls": [call]})), end()],
    ] {
        let reply = reply(&events);
        assert_eq!(calls(&reply), [("a", "f", "{}")], "{events:?}");
        assert!(["", "so"].contains(&reply.text.as_str()), "{}", reply.text);
    }
    let legacy = reply(&[
        delta(json!({"function_call": {"name": "f", "arguments": ""}})),
        delta(json!({"function_call": {"arguments": "{\"a\""}})),
        delta(json!({"function_call": {"name": "f", "arguments": ":1}"}})),
        finish("function_call"),
    ]);
    assert_eq!(calls(&legacy), [("", "f", "{\"a\":1}")]);
    let both = reply(&[
        delta(json!({"function_call": {"name": "f", "arguments": "{}"}, "tool_calls": [call]})),
        finish("tool_calls"),
    ]);
    assert_eq!(calls(&both), [("a", "f", "{}")]);
}

/// Complaint 12, arguments are rewritten on their way: those that come as an object are its very bytes.
#[test]
fn an_object_as_arguments_is_kept_byte_for_byte() {
    let raw = r#"{ "b" : 1.50, "a":[1E2,"é\u00e9"] }"#;
    let body = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"name":"f","arguments":{raw}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let (chunks, error) = decoded([event(&body).as_slice()]);
    assert!(error.is_none());
    assert_eq!(calls(&fold(chunks)), [("", "f", raw)]);
}

/// Complaint 13, what cannot be arguments becomes `{}`: it is refused, and absent ones are none.
#[test]
fn arguments_of_another_type_are_malformed_and_absent_ones_are_empty() {
    for wrong in [json!(7), json!(true), json!([1]), json!([])] {
        let part = tool(json!({"index": 0, "function": {"name": "f", "arguments": wrong}}));
        let error = failure(&[part, end()]);
        assert!(matches!(error, DecodeError::Malformed(MalformedReply::NotTheDialect)), "{wrong}: {error}");
    }
    for absent in
        [json!({"name": "f"}), json!({"name": "f", "arguments": null}), json!({"name": "f", "arguments": ""})]
    {
        let reply = reply(&[tool(json!({"index": 0, "function": absent})), end()]);
        assert_eq!(calls(&reply), [("", "f", "")]);
    }
}

#[test]
fn tool_calls_beyond_the_bound_are_malformed() {
    let open: Vec<_> =
        (0..=TOOL_CALLS_MAX).map(|index| tool(json!({"index": index, "function": {"name": "f"}}))).collect();
    let (chunks, error) = decoded_events(&open);
    assert_eq!(chunks.len(), TOOL_CALLS_MAX);
    assert!(matches!(error, Some(DecodeError::Malformed(MalformedReply::TooManyToolCalls))));
}
