//! The chat-completions dialect.

use loom_llm::openai;

use crate::dialect::Dialect;

const TEXT: &[&str] = &[
    r#"{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"The \"Rhine\"\n"},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":1,"delta":{"content":"Loire","refusal":null,"tool_calls":null}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"so"}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"a","reasoning":"b"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"refusal":"I cannot."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13},"x_groq":{"usage":{"prompt_tokens":9}}}"#,
];
const TOOLS: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}},{"index":1,"id":"call_b","function":{"name":"time","arguments":"{}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"call_a","function":{"arguments":"\"Köln\"}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"time","arguments":"{}"}}]},"finish_reason":""}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls","usage":{"prompt_tokens":3}}]}"#,
];
const WHOLE: &[&str] = &[
    r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Elbe","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
    r#"{"error":{"message":"overloaded","type":"server_error","code":503}}"#,
];

#[test]
fn spoiled_replies_end_the_same_in_any_packets_and_invent_nothing() {
    Dialect {
        decoder: openai::decoder,
        streams: &[TEXT, TOOLS],
        documents: WHOLE,
        recorded: "openai-compatible",
        named: false,
        end_mark: Some("[DONE]"),
        growth_max: 1,
        iterations: 600,
    }
    .check();
}
