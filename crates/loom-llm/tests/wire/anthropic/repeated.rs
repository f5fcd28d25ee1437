//! Fields that come twice: the last value that is one counts, and none ends the reply.

use loom_llm::{LlmChunk, Usage};

use super::{calls, decode, finish, fold, said_text, turn};

const DELTA: &str = r#""index":0,"delta":{"type":"text_delta","text":"a"}"#;

fn event(fields: &str) -> String {
    format!("data: {{{fields}}}\n\n")
}

fn chunks(body: &str) -> Vec<LlmChunk> {
    let (chunks, error) = decode([body.as_bytes()]);
    assert!(error.is_none(), "{error:?} of {body}");
    chunks
}

#[test]
fn of_a_type_that_comes_twice_the_last_one_counts() {
    let end = r#""type":"message_stop""#;
    for kinds in [
        r#""type":"content_block_delta","type":"content_block_delta""#,
        r#""type":"ping","type":"content_block_delta""#,
        r#""type":"content_block_delta","type":null"#,
        r#""type":null,"type":"content_block_delta""#,
    ] {
        let body = event(&format!("{kinds},{DELTA}")) + &event(end);
        assert_eq!(chunks(&body), [said_text("a")], "{kinds}");
    }
    let ping = event(&format!(r#""type":"content_block_delta","type":"ping",{DELTA}"#)) + &event(end);
    assert_eq!(chunks(&ping), []);
    for kinds in [r#""type":"thinking_delta","type":"text_delta""#, r#""type":"text_delta","type":null"#] {
        let body =
            format!(r#""type":"content_block_delta","index":0,"delta":{{{kinds},"text":"x","text":"a"}}"#);
        assert_eq!(chunks(&(event(&body) + &event(end))), [said_text("a")], "{kinds}");
    }
}

#[test]
fn of_a_content_block_that_comes_twice_and_of_its_fields_the_last_ones_count() {
    let end = event(r#""type":"message_stop""#);
    let opened = |blocks: &str| event(&format!(r#""type":"content_block_start","index":0,{blocks}"#)) + &end;
    let block = r#""content_block":{"type":"text","text":"a"}"#;
    for blocks in [
        format!(r#""content_block":{{"type":"text","text":"x"}},{block}"#),
        format!(r#"{block},"content_block":null"#),
        format!(r#""content_block":null,{block}"#),
        r#""content_block":{"type":"thinking","type":"text","text":"x","text":"a"}"#.to_owned(),
        r#""content_block":{"type":"text","type":null,"text":"a","text":null}"#.to_owned(),
    ] {
        assert_eq!(chunks(&opened(&blocks)), [said_text("a")], "{blocks}");
    }
    let call =
        r#""content_block":{"type":"tool_use","type":null,"id":"x","id":"t","id":null,"name":"f","name":null,
        "input":{},"input":{"a":1},"input":null}"#
            .replace('\n', "");
    let got = fold(chunks(&opened(&call)));
    assert_eq!((calls(&got), turn(&got)), (vec![("t", "f", r#"{"a":1}"#)], None));
}

#[test]
fn of_a_stop_reason_that_comes_twice_the_last_one_counts() {
    for reasons in [
        r#""stop_reason":"max_tokens","stop_reason":"end_turn""#,
        r#""stop_reason":"end_turn","stop_reason":null"#,
        r#""stop_reason":null,"stop_reason":"end_turn""#,
    ] {
        let delta = event(&format!(r#""type":"message_delta","delta":{{{reasons}}}"#));
        assert_eq!(chunks(&delta), [finish("end_turn")], "{reasons}");
        let whole = format!(r#"{{"type":"message","content":[],"content":"a",{reasons}}}"#);
        assert_eq!(chunks(&whole), [said_text("a"), finish("end_turn")], "{reasons}");
    }
}

/// D3: the last figure of each kind, as in a stream.
#[test]
fn of_usage_that_comes_twice_the_last_one_counts() {
    for usage in [
        r#""usage":{"input_tokens":9},"usage":{"input_tokens":1,"input_tokens":2,"output_tokens":3}"#,
        r#""usage":{"input_tokens":2,"output_tokens":3,"output_tokens":null},"usage":null"#,
    ] {
        let body = event(&format!(r#""type":"message_delta","delta":{{"stop_reason":"end_turn"}},{usage}"#));
        assert_eq!(chunks(&body), [finish("end_turn"), LlmChunk::Usage(Usage::new(2, 3))], "{usage}");
    }
}
