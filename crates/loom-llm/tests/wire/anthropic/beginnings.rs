//! Blocks whose beginning does not say what they are, and inputs that stand there in other forms than an object.

use loom_llm::error::MalformedReply;
use loom_llm::{Collected, DecodeError};
use serde_json::{Value, json};

use super::{
    arguments, calls, close, decode, delta, end, fold, open, reply, start, stop, stream, text, thinking,
    tool, turn,
};

/// The reply with a block that begins so and has those parts.
fn begun(block: Value, parts: &[Value]) -> Collected {
    reply(&[&[start("m"), open(0, block)], parts, &[close(0), end("end_turn"), stop()]].concat())
}

fn is_malformed(body: &[u8]) -> bool {
    matches!(decode([body]).1, Some(DecodeError::Malformed(MalformedReply::NotTheDialect)))
}

#[test]
fn a_block_without_a_type_is_what_its_fields_tell() {
    let untyped = [json!(null), json!(""), json!(7)];
    let with_type = |block: &Value, kind: &Value| {
        let mut block = block.clone();
        block["type"] = kind.clone();
        block
    };
    let every_form = |block: Value| {
        let typed: Vec<_> = untyped.iter().map(|kind| with_type(&block, kind)).collect();
        [vec![block], typed].concat()
    };
    for block in every_form(json!({"thinking": "h", "signature": "s"})) {
        let got = begun(block, &[thinking(0, "m")]);
        assert_eq!((got.reasoning.as_str(), got.text.as_str()), ("hm", ""));
        let kept = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}]);
        assert_eq!(turn(&got), kept.as_array(), "the provider wants it back with its type");
    }
    for block in every_form(json!({"text": "H"})) {
        let got = begun(block, &[text(0, "i")]);
        assert_eq!((got.text.as_str(), turn(&got)), ("Hi", None));
    }
    for (block, id, name) in [
        (json!({"id": "t", "name": "f", "input": {}}), "t", "f"),
        (json!({"id": "t", "name": "f"}), "t", "f"),
        (json!({"id": null, "name": "f", "input": {}}), "", "f"),
        (json!({"input": {}}), "", ""),
    ] {
        for block in every_form(block) {
            let got = begun(block, &[arguments(0, "{\"a\":"), arguments(0, "1}")]);
            assert_eq!((calls(&got), turn(&got)), (vec![(id, name, "{\"a\":1}")], None));
        }
    }
    let whole = begun(json!({"id": "t", "name": "f", "input": {"a": 1}}), &[]);
    assert_eq!(calls(&whole), [("t", "f", "{\"a\":1}")]);
}

/// Some servers write every field that there is.
#[test]
fn of_the_fields_of_a_block_without_a_type_those_that_say_something_tell_it() {
    let every = |said: Value| {
        let mut block = json!({"type": null, "thinking": "", "id": "", "name": "", "text": "", "input": {}});
        block.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        block
    };
    let said = begun(every(json!({"text": "Hi"})), &[]);
    assert_eq!((said.text.as_str(), turn(&said)), ("Hi", None));
    let thought = begun(every(json!({"thinking": "hm"})), &[]);
    assert_eq!(thought.reasoning, "hm");
    let kept = json!([{"type": "thinking", "thinking": "hm"}]);
    assert_eq!(turn(&thought), kept.as_array(), "the others would be refused on their way back");
    let call = begun(every(json!({"id": "t", "name": "f"})), &[arguments(0, "{}")]);
    assert_eq!((calls(&call), turn(&call)), (vec![("t", "f", "{}")], None));
    let silent = begun(every(json!({})), &[text(0, "Hi")]);
    assert_eq!((silent.text.as_str(), silent.tool_calls.len(), turn(&silent)), ("Hi", 0, None));
}

#[test]
fn a_block_that_tells_nothing_is_what_is_first_added_to_it() {
    let beginnings = [
        open(0, json!({})),
        open(0, json!(null)),
        open(0, json!("text")),
        open(0, json!({"type": null, "text": null, "signature": ""})),
        json!({"type": "content_block_start", "index": 0}),
    ];
    let signed = json!({"type": "signature_delta", "signature": "s"});
    for begun in beginnings {
        // An earlier block of the same index is another one, and takes nothing of what is added to this.
        let before = [
            start("m"),
            open(0, json!({"type": "thinking", "thinking": "", "signature": "old"})),
            close(0),
            tool(0, "t", json!({})),
            close(0),
        ];
        let with = |parts: &[Value]| {
            [&before[..], std::slice::from_ref(&begun), parts, &[close(0), end("end_turn"), stop()]].concat()
        };
        let said = reply(&with(&[text(0, ""), text(0, "Hi")]));
        assert_eq!((said.text.as_str(), said.reasoning.as_str()), ("Hi", ""), "{begun}");
        let thought = reply(&with(&[thinking(0, "hm"), delta(0, signed.clone())]));
        assert_eq!((thought.text.as_str(), thought.reasoning.as_str()), ("", "hm"), "{begun}");
        let kept = turn(&thought).unwrap();
        assert_eq!(kept[0]["signature"], "old", "{begun}");
        assert_eq!(kept[2], json!({"type": "thinking", "thinking": "hm", "signature": "s"}), "{begun}");
        assert!(is_malformed(&stream(&with(&[arguments(0, "{}")]))), "arguments of no call: {begun}");
        let silent = reply(&with(&[arguments(0, "")]));
        assert_eq!((calls(&silent), turn(&silent).unwrap().len()), (vec![("t", "f", "")], 2), "{begun}");
    }
    let cited = begun(json!({}), &[delta(0, json!({"type": "citations_delta", "citation": {"url": "u"}}))]);
    assert_eq!(turn(&cited), None, "it is text");
    let kept = begun(json!({}), &[delta(0, json!({"type": "compaction_delta", "content": "sum"}))]);
    assert_eq!(turn(&kept), json!([{"content": "sum"}]).as_array());
}

/// D20: whatever stood in their place, the arguments that are streamed are those of the call.
#[test]
fn streamed_arguments_take_the_place_of_whatever_a_call_began_with() {
    for input in [
        json!(null),
        json!({}),
        json!([]),
        json!(""),
        json!(" "),
        json!("{}"),
        json!("{\"b\":2}"),
        json!([1]),
        json!(7),
        json!("text"),
        json!(false),
    ] {
        let block = json!({"type": "tool_use", "id": "t", "name": "f", "input": input});
        let got = begun(block, &[arguments(0, ""), arguments(0, "{\"a\":"), arguments(0, "1}")]);
        assert_eq!(calls(&got), [("t", "f", "{\"a\":1}")], "{input}");
    }
}

/// D20: none, an object in either form and what is no object are three things.
#[test]
fn without_parts_the_input_of_a_call_is_its_arguments_or_none_or_a_fault() {
    let streamed = |input: &Value| stream(&[start("m"), tool(0, "t", input.clone()), close(0), stop()]);
    let unclosed = |input: &Value| stream(&[start("m"), tool(0, "t", input.clone()), stop()]);
    let whole = |input: &Value| {
        let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": input});
        json!({"content": [call], "stop_reason": "tool_use"}).to_string().into_bytes()
    };
    for (input, expected) in [
        (json!(null), ""),
        (json!({}), ""),
        (json!([]), ""),
        (json!(""), ""),
        (json!(" \n"), ""),
        (json!("{}"), ""),
        (json!("{ \"a\" : 1.0 }"), "{ \"a\" : 1.0 }"),
    ] {
        for body in [streamed(&input), unclosed(&input), whole(&input)] {
            let (got, error) = decode([&*body]);
            assert!(error.is_none(), "{input}: {error:?}");
            assert_eq!(calls(&fold(got)), [("t", "f", expected)], "{input}");
        }
    }
    for input in
        [json!([1]), json!(7), json!(false), json!("text"), json!("[]"), json!("{\"a\":"), json!("{}7")]
    {
        for body in [streamed(&input), unclosed(&input), whole(&input)] {
            assert!(is_malformed(&body), "{input}");
        }
    }
}
