//! Reasoning: what is shown of it, and what of it goes back with the results of tools.

use loom_llm::openai::DIALECT;
use loom_llm::{Collected, ProviderTurn};
use serde_json::{Value, json};

use super::{decoded, delta, end, finish, fold, reply, tool};

fn call() -> Value {
    tool(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}))
}

fn turn(reply: &Collected) -> Option<Value> {
    reply.turn.as_ref().map(|turn| {
        assert_eq!(turn.dialect, DIALECT);
        turn.content.clone()
    })
}

/// Complaint 9, reasoning is not sent back and the results of tools are refused: a reply with tool calls keeps the
/// fields as they came.
#[test]
fn reasoning_before_tool_calls_is_kept_in_its_own_fields() {
    for (name, other) in [("reasoning_content", "reasoning"), ("reasoning", "reasoning_content")] {
        let piece = |text: Value| delta(json!({name: text, other: null, "content": null}));
        let events = [
            piece(json!("Let me ")),
            piece(json!("look.")),
            piece(json!(null)),
            call(),
            finish("tool_calls"),
        ];
        let reply = reply(&events);
        assert_eq!(turn(&reply), Some(json!({name: "Let me look."})));
        assert_eq!(reply.reasoning, "Let me look.");
    }
    let both = reply(&[delta(json!({"reasoning": "hm", "reasoning_content": "hm"})), call(), end()]);
    assert_eq!(
        (both.reasoning.as_str(), turn(&both)),
        ("hm", Some(json!({"reasoning": "hm", "reasoning_content": "hm"})))
    );
}

/// Complaint 9: DeepSeek wants the field wherever it sent it, empty too; a reply that needs nothing back has no turn.
#[test]
fn a_turn_is_kept_only_where_something_is_wanted_back() {
    let empty = |name: &str| delta(json!({"role": "assistant", "content": null, name: ""}));
    assert_eq!(
        turn(&reply(&[empty("reasoning_content"), call(), end()])),
        Some(json!({"reasoning_content": ""}))
    );
    assert_eq!(turn(&reply(&[empty("reasoning"), call(), end()])), None);
    assert_eq!(turn(&reply(&[call(), end()])), None);
    let thought = delta(json!({"reasoning_content": "hm", "content": "so"}));
    assert_eq!(turn(&reply(&[thought, end()])), None, "without tool calls nothing is wanted back");
    let of_another_choice = json!({"choices": [{"index": 1, "delta": {"reasoning_content": "hm"}}]});
    assert_eq!(turn(&reply(&[of_another_choice, call(), end()])), None);
}

/// Complaint 9: blocks that come in pieces are whole again, since a signature without its text is refused.
#[test]
fn reasoning_blocks_in_pieces_go_back_whole() {
    let piece = |block: Value| delta(json!({"reasoning_details": [block]}));
    let reply = reply(&[
        piece(json!({"type": "reasoning.text", "index": 0, "text": "Let ", "format": "v1"})),
        piece(json!({"type": "reasoning.text", "index": 0, "text": "me.", "format": null})),
        piece(json!({"type": "reasoning.text", "index": 0, "signature": "sig"})),
        piece(json!({"type": "reasoning.summary", "index": 1, "summary": "A"})),
        piece(json!({"type": "reasoning.encrypted", "index": 1, "id": "rs", "data": "x=="})),
        piece(json!({"type": "reasoning.summary", "index": 1, "summary": "B"})),
        piece(json!({"type": "reasoning.text", "text": "no index"})),
        piece(json!({"type": "reasoning.text", "text": "."})),
        call(),
        finish("tool_calls"),
    ]);
    let blocks = json!([
        {"type": "reasoning.text", "index": 0, "text": "Let me.", "format": "v1", "signature": "sig"},
        {"type": "reasoning.summary", "index": 1, "summary": "AB"},
        {"type": "reasoning.encrypted", "index": 1, "id": "rs", "data": "x=="},
        {"type": "reasoning.text", "text": "no index"},
        {"type": "reasoning.text", "text": "."},
    ]);
    assert_eq!(turn(&reply), Some(json!({"reasoning_details": blocks})));
    assert_eq!(reply.reasoning, "Let me.ABno index.", "and are shown where there is nothing else to show");
}

/// Complaint 9: blocks that share an index and a type but not their id stay apart, as each has a signature of its own.
#[test]
fn reasoning_blocks_of_different_ids_are_not_joined() {
    let block = |id: &str, text: &str| json!({"type": "reasoning.text", "index": 0, "id": id, "text": text});
    let piece = |block: Value| delta(json!({"reasoning_details": [block]}));
    let signed = json!({"type": "reasoning.text", "index": 0, "signature": "sig"});
    let blocks = [block("a", "one"), block("b", "two"), signed, block("a", "!")];
    let mut events: Vec<_> = blocks.into_iter().map(piece).collect();
    events.extend([call(), end()]);
    let mut second = block("b", "two");
    second["signature"] = json!("sig");
    assert_eq!(turn(&reply(&events)), Some(json!({"reasoning_details": [block("a", "one!"), second]})));
}

/// D20: reasoning that comes both as text and as blocks is shown once.
#[test]
fn blocks_beside_plain_reasoning_are_not_shown_again() {
    let blocks = json!([{"type": "reasoning.text", "index": 0, "text": "hm"}]);
    let both = delta(json!({"reasoning": "hm", "reasoning_details": blocks}));
    let at_the_end = delta(json!({"reasoning_details": blocks, "content": "Hi"}));
    let reply = reply(&[both, at_the_end, end()]);
    assert_eq!((reply.reasoning.as_str(), reply.text.as_str()), ("hm", "Hi"));
}

/// Complaint 9: what Gemini signs a tool call with stays with that call.
#[test]
fn what_belongs_to_a_tool_call_goes_back_with_it() {
    let signature = json!({"google": {"thought_signature": "sig+/="}});
    let reply = reply(&[
        delta(json!({"tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}, "extra_content": signature},
        ]})),
        tool(json!({"index": 2, "id": "c", "function": {"name": "h", "arguments": "{}"}})),
        end(),
    ]);
    assert_eq!(turn(&reply), Some(json!({"tool_calls": [{}, {"extra_content": signature}, {}]})));
}

/// Complaint 9: a reply in one piece keeps the same as a streamed one.
#[test]
fn a_whole_reply_keeps_its_turn_too() {
    let message = json!({"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    let (chunks, error) = decoded([body.to_string().as_bytes()]);
    assert!(error.is_none());
    let expected = ProviderTurn::new(DIALECT, json!({"reasoning_content": "hm"}));
    assert_eq!(fold(chunks).turn, Some(expected));
}
