//! The Messages dialect.

use loom_llm::anthropic;

use crate::dialect::Dialect;

const TEXT: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":12,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The \"Rhine\"\n"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"R"}}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":30}}"#,
    r#"{"type":"message_stop"}"#,
];
const TOOLS: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","content":[],"usage":{"input_tokens":3}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Kö"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"ln\"}"}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"srv_1","name":"search","input":{"q":1e15}}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":47}}"#,
    r#"{"type":"message_stop"}"#,
];
const REFUSED: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"msg_3","content":[{"type":"redacted_thinking","data":"eA=="},{"type":"text","text":"I"}]}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"policy"}}}"#,
    r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
];
const WHOLE: &[&str] = &[
    r#"{"id":"msg_4","type":"message","role":"assistant","content":[{"type":"text","text":"Elbe"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}"#,
];

#[test]
fn spoiled_messages_end_the_same_in_any_packets_and_invent_nothing() {
    Dialect {
        decoder: anthropic::decoder,
        streams: &[TEXT, TOOLS, REFUSED],
        documents: WHOLE,
        recorded: "anthropic",
        named: true,
        end_mark: None,
        growth_max: 1,
        iterations: 600,
    }
    .check();
}
