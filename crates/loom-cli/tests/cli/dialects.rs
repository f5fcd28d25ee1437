//! The three dialects from outside: where the request goes, which key it takes with it, and what is shown.

use serde_json::{Value, json};

use crate::support::peer::{Peer, Request};
use crate::support::{Folder, Ran};

/// A server that answers every request with these events.
fn streaming(events: &[Value]) -> Peer {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Peer::serve(move |_, answer| {
        answer.begin();
        answer.raw(&body);
    })
}

/// Asks with a key of the vendor's own, and says what came out and what was sent.
fn asked(provider: &str, variable: &str, events: &[Value]) -> (Ran, Request) {
    let peer = streaming(events);
    let folder = Folder::new();
    let base_url = peer.base_url();
    let args = ["ask", "hi", "--json", "--model", "m-1", "--provider", provider, "--base-url", &base_url];
    let ran = Ran::of(folder.loom(&args).env(variable, "sk-vendor-1")).ok();
    (ran, peer.requests().remove(0))
}

fn first_line(request: &Request) -> &str {
    request.head.lines().next().unwrap()
}

/// D20: reasoning is a kind of its own, which the machine's view asks for; tool calls come with the whole answer.
#[test]
fn anthropic_text_reasoning_and_tool_calls() {
    let block = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let (ran, request) = asked(
        "anthropic",
        "ANTHROPIC_API_KEY",
        &[
            json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [],
                "usage": {"input_tokens": 7, "output_tokens": 1}}}),
            block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "Hm."})),
            delta(0, json!({"type": "signature_delta", "signature": "sig"})),
            block(1, json!({"type": "text", "text": ""})),
            delta(1, json!({"type": "text_delta", "text": "Look"})),
            block(2, json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{\"at\": "})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "1}"})),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ],
    );
    assert_eq!(
        ran.json(),
        [
            json!({"reasoning": "Hm."}),
            json!({"text": "Look"}),
            json!({"tool_call": {"id": "toolu_1", "name": "look", "arguments": "{\"at\": 1}"}}),
            json!({"done": {"usage": {"inputTokens": 7, "outputTokens": 9}, "finish_reason": "tool_calls"}}),
        ]
    );
    assert_eq!(first_line(&request), "POST /v1/messages HTTP/1.1");
    let head = request.head.to_lowercase();
    assert!(head.contains("x-api-key: sk-vendor-1") && head.contains("anthropic-version: "), "{head}");
    assert!(!head.contains("authorization"), "{head}");
    assert_eq!((&request.body["model"], &request.body["max_tokens"]), (&json!("m-1"), &json!(1024)));
}

#[test]
fn google_text_and_a_tool_call_without_arguments() {
    let (ran, request) = asked(
        "google",
        "GEMINI_API_KEY",
        &[
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Look"}]}}]}),
            json!({"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "look"}}]},
                "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 9}}),
        ],
    );
    assert_eq!(
        ran.json(),
        [
            json!({"text": "Look"}),
            json!({"tool_call": {"name": "look", "arguments": ""}}),
            json!({"done": {"usage": {"inputTokens": 7, "outputTokens": 9}, "finish_reason": "stop"}}),
        ]
    );
    assert_eq!(first_line(&request), "POST /v1/models/m-1:streamGenerateContent?alt=sse HTTP/1.1");
    let head = request.head.to_lowercase();
    assert!(head.contains("x-goog-api-key: sk-vendor-1") && !head.contains("authorization"), "{head}");
}

#[test]
fn a_person_is_told_of_tool_calls_and_refusals_and_shown_the_answer_alone() {
    let tool =
        json!({"index": 0, "id": "c1", "function": {"name": "look\u{1b}[2J", "arguments": "{\"secret\":1}"}});
    let peer = streaming(&[
        json!({"choices": [{"delta": {"reasoning_content": "thinking"}}]}),
        json!({"choices": [{"delta": {"content": "Look", "tool_calls": [tool]}, "finish_reason": "tool_calls"}]}),
    ]);
    let ran = Folder::new().run(&["ask", "hi", "--base-url", &peer.base_url()]).ok();
    assert_eq!(ran.out, "Look\n");
    assert!(ran.err.contains("calls the tool look") && !ran.err.contains('\u{1b}'), "{ran:?}");
    assert!(!ran.err.contains("secret") && !ran.err.contains("thinking"), "{ran:?}");

    let peer = streaming(&[
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
            "stop_details": {"type": "refusal", "explanation": "not\nthat\u{1b}"}}}),
        json!({"type": "message_stop"}),
    ]);
    let args = ["ask", "hi", "--provider", "anthropic", "--base-url", &peer.base_url()];
    let ran = Folder::new().run(&args).ok();
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("declined to answer: not that") && !ran.err.contains('\u{1b}'), "{ran:?}");
}

/// A program reads of a refusal in `done`, with why where the provider says it; no reason is made up.
#[test]
fn a_refusal_is_told_to_programs_and_people_alike() {
    let (ran, _) = asked(
        "openai",
        "OPENAI_API_KEY",
        &[json!({"choices": [{"index": 0, "delta": {"refusal": "I cannot."}, "finish_reason": "stop"}]})],
    );
    let done = json!({"done": {"finish_reason": "stop", "refused": true}});
    assert_eq!(ran.json(), [json!({"text": "I cannot."}), done]);
    assert_eq!(ran.err, "the model declined to answer\n");

    let (ran, _) = asked(
        "anthropic",
        "ANTHROPIC_API_KEY",
        &[
            json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
                "stop_details": {"type": "refusal", "explanation": "not that"}}}),
            json!({"type": "message_stop"}),
        ],
    );
    let done = &ran.json()[0]["done"];
    assert_eq!((&done["refused"], &done["explanation"]), (&json!(true), &json!("not that")), "{ran:?}");
    assert_eq!(ran.err, "the model declined to answer: not that\n");
}

#[test]
fn a_vendor_s_own_address_needs_its_key_and_a_model() {
    let folder = Folder::new();
    for (provider, variable) in
        [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("google", "GEMINI_API_KEY")]
    {
        let keyless = folder.run(&["ask", "hi", "--provider", provider, "--model", "m"]).exit(2);
        assert!(keyless.err.contains(variable), "{keyless:?}");
        let mut nameless = folder.loom(&["ask", "hi", "--provider", provider]);
        let nameless = Ran::of(nameless.env(variable, "sk-vendor-1")).exit(2);
        assert!(nameless.err.contains("--model") && !nameless.err.contains("sk-vendor"), "{nameless:?}");
    }
    folder.run(&["ask", "hi", "--provider", "mistral"]).exit(2);
    folder.run(&["ask", "hi", "--provider", "openai", "--offline"]).exit(2);
}
