//! The generateContent dialect.

use loom_llm::google;

use crate::dialect::Dialect;

const TEXT: &[&str] = &[
    r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,"thoughtsTokenCount":185}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"The \"Rhine\"\n"},{"text":"."}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"r"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":23,"totalTokenCount":217}}"#,
];
const TOOLS: &[&str] = &[
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"f1","name":"weather","args":{"city":"Köln","days":1e15,"near":[0.5,null]}},"thoughtSignature":"c2ln"}],"role":"model"}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"plan","willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Bo","willContinue":true}],"willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"nn"},{"jsonPath":"$.stops[0].name","stringValue":"a\"b"},{"jsonPath":"$.stops[1].day","numberValue":2}],"willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.on","boolValue":true},{"jsonPath":"$['a b']","nullValue":"NULL_VALUE"}],"willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}"#,
];
const REFUSED: &[&str] = &[
    r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]},"usageMetadata":{"promptTokenCount":4}}"#,
    r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"bad call","index":0}]}"#,
];
const WHOLE: &[&str] = &[
    r#"{"candidates":[{"content":{"parts":[{"text":"Elbe"},{"executableCode":{"code":"1"}},{"functionCall":{"name":"f","args":{}}}],"role":"model"},"finishReason":"STOP"}]}"#,
    r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#,
];

#[test]
fn spoiled_candidates_end_the_same_in_any_packets_and_invent_nothing() {
    Dialect {
        decoder: google::decoder,
        streams: &[TEXT, TOOLS, REFUSED],
        documents: WHOLE,
        recorded: "google",
        named: false,
        end_mark: None,
        // Arguments that come by their paths are assembled: each piece again says quotes, names and brackets.
        growth_max: 8,
        iterations: 600,
    }
    .check();
}
