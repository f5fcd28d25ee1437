//! What each kind of content block comes out as.

use loom_llm::{Collected, LlmChunk};
use serde_json::{Value, json};

use super::{
    arguments, calls, chunks, close, decode, delta, end, finish, fold, open, reply, said_text, start, stop,
    text, thinking, tool, turn,
};

fn message(blocks: Vec<Value>) -> Collected {
    reply(&[vec![start("m")], blocks, vec![end("end_turn"), stop()]].concat())
}

/// D20: reasoning and tool arguments are kinds of their own, in the order and the pieces in which they came.
#[test]
fn text_and_thinking_and_arguments_come_out_piece_by_piece() {
    let got = chunks(&[
        start("m"),
        open(0, json!({"type": "thinking", "thinking": "a", "signature": ""})),
        thinking(0, "b"),
        thinking(0, ""),
        close(0),
        open(1, json!({"type": "text", "text": "c"})),
        text(1, "d"),
        close(1),
        tool(2, "t", json!({})),
        arguments(2, ""),
        arguments(2, "{\"a\":"),
        arguments(2, " 1}"),
        close(2),
        end("tool_use"),
        stop(),
    ]);
    let reasoning = |text: &str| LlmChunk::Reasoning { choice: 0, text: text.to_owned() };
    let part = |id: Option<&str>, arguments: &str| LlmChunk::ToolArguments {
        choice: 0,
        call: 0,
        id: id.map(str::to_owned),
        name: id.map(|_| "f".to_owned()),
        arguments: arguments.to_owned(),
    };
    let expected = [
        reasoning("a"),
        reasoning("b"),
        said_text("c"),
        said_text("d"),
        part(Some("t"), ""),
        part(None, "{\"a\":"),
        part(None, " 1}"),
        finish("tool_use"),
    ];
    assert_eq!(got[..8], expected);
    assert!(matches!(got[8..], [LlmChunk::Turn(_)]));
}

/// D20: arguments are the provider's bytes; none are another thing than an empty object that the model wrote.
#[test]
fn arguments_are_verbatim_wherever_they_come_and_empty_where_there_are_none() {
    let written = "{\"b\": 1.50, \"a\": [ 12345678901234567890123 ]}";
    let whole: Value = serde_json::from_str("{\"z\": 1}").unwrap();
    let got = message(vec![
        // Two calls whose parts alternate.
        tool(0, "a", json!({})),
        tool(1, "b", json!({})),
        arguments(1, "l"),
        arguments(0, "{\"x\":"),
        arguments(1, "l -l"),
        arguments(0, "2}"),
        close(0),
        close(1),
        // None, none with an empty piece, and an object that the model wrote.
        tool(2, "none", json!({})),
        close(2),
        tool(3, "empty", json!(null)),
        arguments(3, ""),
        close(3),
        tool(4, "braces", json!({})),
        arguments(4, "{}"),
        close(4),
        // All of them in the beginning, alone and with pieces, of which the pieces count.
        tool(5, "first", whole.clone()),
        close(5),
        tool(6, "both", whole.clone()),
        arguments(6, "{\"y\":2}"),
        close(6),
        // Not ended.
        tool(7, "open", whole),
    ]);
    let expected = [
        ("a", "f", "{\"x\":2}"),
        ("b", "f", "ll -l"),
        ("none", "f", ""),
        ("empty", "f", ""),
        ("braces", "f", "{}"),
        ("first", "f", "{\"z\":1}"),
        ("both", "f", "{\"y\":2}"),
        ("open", "f", "{\"z\":1}"),
    ];
    assert_eq!(calls(&got), expected);
    let begun = format!(
        "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"t\",\
         \"name\":\"f\",\"input\":{written}}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
    );
    let (got, error) = decode([begun.as_bytes()]);
    assert!(error.is_none());
    assert_eq!(calls(&fold(got)), [("t", "f", written)], "to the byte");
}

#[test]
fn signatures_and_redacted_thinking_are_kept_for_the_turn_and_are_no_chunks() {
    let got = message(vec![
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        thinking(0, "hm"),
        delta(0, json!({"type": "signature_delta", "signature": "sig"})),
        close(0),
        open(1, json!({"type": "redacted_thinking", "data": "secret"})),
        close(1),
        // Thinking that is not shown has a signature alone.
        open(2, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(2, json!({"type": "signature_delta", "signature": "sig-2"})),
        close(2),
        open(3, json!({"type": "text", "text": ""})),
        text(3, "Hi"),
        close(3),
    ]);
    assert_eq!((got.reasoning.as_str(), got.text.as_str()), ("hm", "Hi"));
    let expected = json!([
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "thinking", "thinking": "", "signature": "sig-2"},
        {"type": "text", "text": "Hi"},
    ]);
    assert_eq!(turn(&got), expected.as_array());
}

#[test]
fn a_turn_comes_only_where_text_and_calls_could_not_rebuild_it() {
    let plain = vec![open(0, json!({"type": "text", "text": "Hi"})), tool(1, "t", json!({"a": 1}))];
    assert_eq!(turn(&message(plain)), None);
    let caller = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": {"type": "code"}});
    let got = message(vec![open(0, caller)]);
    let expected = json!([
        {"type": "tool_use", "id": "t", "name": "f", "caller": {"type": "code"}, "input": ""}
    ]);
    assert_eq!(turn(&got), expected.as_array());
    assert_eq!(calls(&got), [("t", "f", "")]);
}

/// D20: what the provider ran itself is no call, else it would be run a second time.
#[test]
fn blocks_of_the_provider_itself_are_kept_and_neither_text_nor_calls() {
    let result =
        json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u", "n": 1}]});
    let got = message(vec![
        open(0, json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}})),
        close(0),
        open(1, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        arguments(1, "{\"query\": "),
        arguments(1, "\"x\"}"),
        close(1),
        open(2, result.clone()),
        close(2),
        open(
            3,
            json!({"type": "mcp_tool_use", "id": "m", "name": "f", "server_name": "n", "input": {"a": 1}}),
        ),
        close(3),
        open(4, json!({"type": "compaction", "content": null})),
        delta(4, json!({"type": "compaction_delta", "content": "sum", "encrypted_content": "x"})),
        delta(4, json!({"type": "compaction_delta", "content": "mary"})),
        close(4),
        open(5, json!({"type": "of_tomorrow", "text": "not an answer"})),
        delta(5, json!({"type": "text_delta", "text": ", as far as we know"})),
        close(5),
        open(6, json!({"type": "text", "text": ""})),
        text(6, "Hi"),
        delta(6, json!({"type": "citations_delta", "citation": {"url": "u"}})),
        delta(6, json!({"type": "citations_delta", "citation": {"url": "v"}})),
        close(6),
    ]);
    assert_eq!((got.text.as_str(), got.tool_calls.len(), got.reasoning.as_str()), ("Hi", 0, ""));
    let expected = json!([
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": "{\"query\": \"x\"}"},
        result,
        {"type": "mcp_tool_use", "id": "m", "name": "f", "server_name": "n", "input": "{\"a\":1}"},
        {"type": "compaction", "content": "summary", "encrypted_content": "x"},
        {"type": "of_tomorrow", "text": "not an answer, as far as we know"},
        {"type": "text", "text": "Hi", "citations": [{"url": "u"}, {"url": "v"}]},
    ]);
    assert_eq!(turn(&got), expected.as_array());
}

#[test]
fn text_and_thinking_of_a_block_that_never_began_are_not_lost() {
    let got = message(vec![
        text(7, "a"),
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        text(0, "b"),
        thinking(0, "c"),
        text(9, "d"),
        close(0),
        text(0, "late"),
    ]);
    assert_eq!((got.text.as_str(), got.reasoning.as_str()), ("abdlate", "c"));
}
