//! Tool calls: which piece belongs to which call, and that every byte of every call arrives.

use loom_llm::LlmChunk;
use loom_llm::chunk::TOOL_CALLS_MAX;
use loom_llm::decoder::DecodeError;
use loom_llm::error::MalformedReply;
use serde_json::{Value, json};

use super::{call, calls, decoded, end, failure, fold, parts, pieces, reply, text};

/// Complaint 6: arguments are the provider's bytes, spaces, order of keys, digits and repeated keys included.
#[test]
fn arguments_that_come_as_an_object_are_its_bytes() {
    let written = "{ \"b\" : 1.50,\"a\":[1e999, \"\\u00e9\"],\"b\":{} }";
    let body = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"args\":{written},\"name\":\"f\"}}}}]}},\
         \"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let (chunks, error) = decoded([body.as_bytes()]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(calls(&fold(chunks)), [("", "f", written)]);
}

/// Complaint 13: no arguments, an empty object and arguments of another type are three things.
#[test]
fn no_arguments_are_told_from_an_empty_object_and_from_what_is_no_object() {
    for (piece, expected) in [
        (json!({"name": "f"}), ""),
        (json!({"name": "f", "args": null}), ""),
        (json!({"name": "f", "args": {}}), "{}"),
        (json!({"name": "f", "partialArgs": []}), ""),
    ] {
        assert_eq!(calls(&reply(&[call(piece), end()])), [("", "f", expected)]);
    }
    for args in [json!("{}"), json!([]), json!(7), json!(false)] {
        let error = failure(&[call(json!({"name": "f", "args": args})), end()]);
        assert!(matches!(error, DecodeError::Malformed(MalformedReply::NotTheDialect)), "{args}");
    }
}

/// Complaint 7, all parallel calls but the last are lost: whole calls in one chunk, in chunks of their own, and streamed.
#[test]
fn parallel_calls_are_all_kept_in_the_order_of_their_first_piece() {
    let whole =
        |at: usize| json!({"functionCall": {"id": format!("id{at}"), "name": "f", "args": {"n": at}}});
    let at_once = vec![parts((0..5).map(whole).collect())];
    let each: Vec<_> = (0..5).map(|at| parts(json!([whole(at)]))).collect();
    let begun =
        |at: usize| json!({"functionCall": {"id": format!("id{at}"), "name": "f", "willContinue": true}});
    let value = |at: usize| {
        let values = [json!({"jsonPath": "$.n", "numberValue": at})];
        json!({"functionCall": {"id": format!("id{at}"), "partialArgs": values}})
    };
    let interleaved =
        vec![parts((0..5).map(begun).collect()), parts([3, 0, 4, 1, 2].into_iter().map(value).collect())];
    let expected: Vec<_> = (0..5).map(|at| (format!("id{at}"), format!("{{\"n\":{at}}}"))).collect();
    for mut chunks in [at_once, each, interleaved] {
        chunks.push(end());
        let reply = reply(&chunks);
        let found: Vec<_> =
            calls(&reply).iter().map(|(id, _, args)| (id.to_string(), args.to_string())).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_call_is_told_at_its_first_piece_and_its_streamed_arguments_at_its_last() {
    let values = json!([{"jsonPath": "$.a", "stringValue": "x"}]);
    let told = |id: Option<&str>, name: Option<&str>, arguments: &str| LlmChunk::ToolArguments {
        choice: 0,
        call: 0,
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        arguments: arguments.to_owned(),
    };
    let pieces = pieces(&[
        call(json!({"name": "f", "args": {}, "willContinue": true})),
        text("meanwhile"),
        call(json!({"id": "late", "partialArgs": values, "willContinue": true})),
        call(json!({"willContinue": true})),
        call(json!({})),
        call(json!({})),
        end(),
    ]);
    assert_eq!(
        pieces,
        [
            told(None, Some("f"), ""),
            LlmChunk::Text { choice: 0, text: "meanwhile".to_owned() },
            told(Some("late"), None, ""),
            told(None, None, r#"{"a":"x"}"#),
            LlmChunk::Finish { choice: 0, reason: "STOP".to_owned() },
        ]
    );
}

/// A server that repeats the name with every piece means one call; one that begins with a name alone means another.
#[test]
fn a_name_that_is_repeated_beside_values_is_the_same_call() {
    let value = |name: &str, path: &str, more: bool| {
        call(
            json!({"name": name, "partialArgs": [{"jsonPath": path, "numberValue": 1}], "willContinue": more}),
        )
    };
    let one = reply(&[value("f", "$.a", true), value("f", "$.b", false), end()]);
    assert_eq!(calls(&one), [("", "f", r#"{"a":1,"b":1}"#)]);
    let two = reply(&[value("f", "$.a", true), value("g", "$.b", false), end()]);
    assert_eq!(calls(&two), [("", "f", r#"{"a":1}"#), ("", "g", r#"{"b":1}"#)]);
    let again = reply(&[value("f", "$.a", false), value("f", "$.a", false), end()]);
    assert_eq!(calls(&again).len(), 2, "a call that has ended is not continued");
}

/// Complaint 11, arguments joined into another command: two forms of arguments, or two objects, have no one reading.
#[test]
fn arguments_in_two_forms_are_a_fault() {
    let values = json!([{"jsonPath": "$.a", "numberValue": 1}]);
    let begun = || call(json!({"name": "f", "args": {"a": 1}, "willContinue": true}));
    for second in [
        json!({"partialArgs": values}),
        json!({"args": {"b": 2}}),
        json!({"args": {"a": 1}, "willContinue": true}),
    ] {
        let error = failure(&[begun(), call(second.clone()), end()]);
        assert!(matches!(error, DecodeError::Malformed(MalformedReply::NotTheDialect)), "{second}");
    }
    let placeholder = reply(&[begun(), call(json!({"args": {}})), end()]);
    assert_eq!(calls(&placeholder), [("", "f", r#"{"a":1}"#)]);
}

/// Complaint 6: what came without a name is a call that says so, and not lost.
#[test]
fn arguments_without_a_name_are_a_call_without_one() {
    let values = json!([{"jsonPath": "$.a", "numberValue": 1}]);
    let nameless =
        reply(&[call(json!({"args": {"b": 2}})), call(json!({"id": "x", "partialArgs": values})), end()]);
    assert_eq!(calls(&nameless), [("", "", r#"{"b":2}"#), ("x", "", r#"{"a":1}"#)]);
    assert!(calls(&reply(&[call(json!({})), call(json!({"willContinue": true})), end()])).is_empty());
}

#[test]
fn calls_are_counted_by_choice_and_bounded_for_the_reply() {
    let candidate =
        |index: usize| json!({"index": index, "content": {"parts": [{"functionCall": {"name": "f"}}]}});
    let pieces = pieces(&[json!({"candidates": [candidate(1), candidate(0), candidate(1)]}), end()]);
    let places: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            LlmChunk::ToolArguments { choice, call, .. } => Some((*choice, *call)),
            _ => None,
        })
        .collect();
    assert_eq!(places, [(1, 0), (0, 0), (1, 1)]);
    let many = |count: usize| -> Vec<Value> {
        (0..count).map(|_| call(json!({"name": "f"}))).chain([end()]).collect()
    };
    assert_eq!(reply(&many(TOOL_CALLS_MAX)).tool_calls.len(), TOOL_CALLS_MAX);
    let error = failure(&many(TOOL_CALLS_MAX + 1));
    assert!(matches!(error, DecodeError::Malformed(MalformedReply::TooManyToolCalls)));
}
