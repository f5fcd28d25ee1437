//! The chat-completions dialect as providers really speak it.

use futures::StreamExt;
use loom_llm::chunk::TOOL_CALLS_MAX;
use loom_llm::error::MalformedReply;
use loom_llm::{Collected, LlmChunk, Provider, ProviderError, ProviderFault, Remedy, Usage};
use serde_json::{Value, json};

use crate::fixtures::{Said, recordings};
use crate::peer::{Act, Peer, STREAM_HEAD, event, reply, request, text_event, within};

/// What the provider yields for a stream of these events, and its last error if there is one.
async fn chunks_of(events: &[Value]) -> (Vec<LlmChunk>, Option<ProviderError>) {
    let body = events.iter().flat_map(|data| event(&data.to_string())).collect();
    chunks_of_body(body).await
}

async fn chunks_of_body(body: Vec<u8>) -> (Vec<LlmChunk>, Option<ProviderError>) {
    let peer = Peer::streaming(vec![Act::Send(body)]).await;
    let mut stream = peer.provider().stream(&request()).await.unwrap();
    let mut chunks = Vec::new();
    while let Some(next) = within(stream.next()).await {
        match next {
            Ok(chunk) => chunks.push(chunk),
            Err(error) => {
                assert!(within(stream.next()).await.is_none(), "a stream ends with its error");
                return (chunks, Some(error));
            }
        }
    }
    (chunks, None)
}

fn fold(chunks: Vec<LlmChunk>) -> Collected {
    let mut collected = Collected::default();
    chunks.into_iter().for_each(|chunk| collected.fold(chunk).unwrap());
    collected
}

fn text(text: &str) -> LlmChunk {
    LlmChunk::Text { choice: 0, text: text.to_owned() }
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn tool(part: Value) -> Value {
    delta(json!({"tool_calls": [part]}))
}

fn end() -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})
}

#[tokio::test]
async fn recorded_streams_come_out_as_they_stand_however_they_are_packed() {
    for recording in recordings() {
        let mut body = recording.encoded("\n");
        for (size, mark) in [(1, ""), (997, "data: [DONE]\n\n"), (usize::MAX, "data: [DONE]")] {
            body.extend_from_slice(mark.as_bytes());
            // Single-byte packets only for the short ones: each is a system call.
            let size = if size == 1 && body.len() > 6_000 { 61 } else { size };
            let peer = Peer::streaming(vec![Act::Split(body.clone(), size)]).await;
            let stream = peer.provider().stream(&request()).await.unwrap();
            let chunks: Vec<_> = within(stream.collect()).await;
            let reply = fold(chunks.into_iter().map(|chunk| chunk.unwrap()).collect());
            let tools = reply
                .tool_calls
                .into_iter()
                .map(|call| (call.id.unwrap_or_default(), call.name.unwrap_or_default(), call.arguments));
            let said = Said {
                text: reply.text,
                reasoning: reply.reasoning,
                tools: tools.collect(),
                finish: reply.finish_reason,
                usage: reply.usage.map(|usage| (usage.input_tokens.unwrap(), usage.output_tokens.unwrap())),
            };
            assert_eq!(said, recording.said(), "{} in packets of {size}", recording.name);
        }
    }
}

/// D20: reasoning and tool arguments are kinds of their own, and stay apart from the text.
#[tokio::test]
async fn reasoning_and_refusals_and_tool_arguments_are_kinds_of_their_own() {
    let (chunks, error) = chunks_of(&[
        delta(json!({"role": "assistant", "content": null, "reasoning_content": "hm", "reasoning": "hm"})),
        delta(json!({"reasoning": " so", "content": ""})),
        delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "."}]},
                                 {"type": "text", "text": "Hi"}]})),
        delta(json!({"content": "!", "refusal": "no"})),
        tool(json!({"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}})),
        end(),
    ])
    .await;
    assert!(error.is_none());
    let reply = fold(chunks);
    let parts = (reply.reasoning.as_str(), reply.text.as_str(), reply.refusal.as_str());
    assert_eq!(parts, ("hm so.", "Hi!", "no"));
    assert_eq!(reply.tool_calls[0].arguments, "{}");
}

#[tokio::test]
async fn tool_calls_are_told_apart_by_index_else_id_else_order_and_never_repaired() {
    let (chunks, error) = chunks_of(&[
        // Two calls whose parts alternate; the id of the second comes late, its arguments repeat themselves.
        tool(json!({"index": 1, "function": {"arguments": "l"}})),
        tool(json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{"}})),
        tool(json!({"index": 1, "id": "b", "function": {"name": "cat", "arguments": "l -l"}})),
        tool(json!({"index": 0, "id": "", "function": {"name": "", "arguments": "}"}})),
        // Then by id alone, then whole calls with nothing but a name, of which the last is continued.
        tool(json!({"id": "c", "function": {"name": "x", "arguments": "1"}})),
        tool(json!({"id": "c", "function": {"arguments": "2"}})),
        delta(json!({"tool_calls": [{"function": {"name": "y", "arguments": "3"}},
                                    {"function": {"name": "z", "arguments": "4"}}]})),
        tool(json!({"function": {"arguments": "5"}})),
        end(),
    ])
    .await;
    assert!(error.is_none());
    let calls: Vec<_> = fold(chunks)
        .tool_calls
        .into_iter()
        .map(|call| (call.id.unwrap_or_default(), call.name.unwrap_or_default(), call.arguments))
        .collect();
    let expected =
        [("b", "cat", "ll -l"), ("a", "ls", "{}"), ("c", "x", "12"), ("", "y", "3"), ("", "z", "45")];
    assert_eq!(calls, expected.map(|(id, name, args)| (id.to_owned(), name.to_owned(), args.to_owned())));
}

#[tokio::test]
async fn tool_calls_beyond_the_bound_are_malformed() {
    let calls: Vec<_> = (0..=TOOL_CALLS_MAX).map(|index| tool(json!({"index": index}))).collect();
    let (chunks, error) = chunks_of(&calls).await;
    assert_eq!(chunks.len(), TOOL_CALLS_MAX);
    let reason = MalformedReply::TooManyToolCalls;
    assert_eq!(error.unwrap().fault(), &ProviderFault::Malformed { reason });
}

/// D3: usage is as the provider reported it, the last that says anything, and absent when unknown.
#[tokio::test]
async fn usage_is_found_wherever_it_stands_and_never_invented() {
    let tokens = |input: u64, output: u64| json!({"prompt_tokens": input, "completion_tokens": output});
    let usage = |input, output| Some(Usage::new(input, output));
    for (events, expected) in [
        (
            vec![json!({"choices": [], "usage": tokens(1, 2)}), json!({"choices": [], "cost": "0"})],
            usage(1, 2),
        ),
        (
            vec![json!({"usage": tokens(1, 1)}), json!({"usage": tokens(1, 9)}), json!({"usage": {}})],
            usage(1, 9),
        ),
        (vec![json!({"choices": [{"delta": {}, "usage": tokens(3, 4)}]})], usage(3, 4)),
        (vec![json!({"x_groq": {"usage": tokens(5, 6)}, "usage": null})], usage(5, 6)),
        (
            vec![json!({"usage": {"completion_tokens": 0}})],
            Some(Usage { input_tokens: None, output_tokens: Some(0) }),
        ),
        (vec![json!({"usage": "none"}), json!({"usage": {"prompt_tokens": "many"}}), json!({})], None),
    ] {
        let (chunks, error) = chunks_of(&[vec![end()], events.clone()].concat()).await;
        assert!(error.is_none(), "{events:?}");
        assert_eq!(fold(chunks).usage, expected, "{events:?}");
    }
}

#[tokio::test]
async fn finish_reasons_are_kept_as_text_and_an_empty_one_ends_nothing() {
    let finish = |reason: &str| json!({"choices": [{"delta": {"content": "a"}, "finish_reason": reason}]});
    let (chunks, error) = chunks_of(&[finish(""), finish("tired"), finish("")]).await;
    assert!(error.is_none());
    let reply = fold(chunks);
    assert_eq!((reply.text.as_str(), reply.finish_reason.as_deref()), ("aaa", Some("tired")));
    let (chunks, error) = chunks_of(&[finish("")]).await;
    assert_eq!(fold(chunks).finish_reason.as_deref(), Some(""));
    assert!(matches!(error.unwrap().fault(), ProviderFault::EndedEarly { .. }));
}

#[tokio::test]
async fn a_stream_is_whole_with_an_end_mark_or_a_finish_reason_and_cut_without_either() {
    let whole = [text_event("a"), event("[DONE]"), event("not read")].concat();
    assert!(chunks_of_body(whole).await.1.is_none());
    let last_without_blank_line = [text_event("a"), format!("data: {}", end()).into_bytes()].concat();
    assert!(chunks_of_body(last_without_blank_line).await.1.is_none());
    for cut in
        [text_event("a"), [text_event("a"), b"data: {\"choices\": [{\"del".to_vec()].concat(), Vec::new()]
    {
        let error = chunks_of_body(cut).await.1.unwrap();
        assert!(matches!(error.fault(), ProviderFault::EndedEarly { .. }), "{error}");
        assert_eq!(error.remedy(), Remedy::Retry);
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_typed_and_its_words_stay_tainted() {
    let canary = "canary-in-the-error";
    let by_code = json!({"error": {"message": canary, "code": 400}});
    for (body, remedy) in [
        (event(&by_code.to_string()), Remedy::FixRequest),
        (
            event(&json!({"error": {"message": canary, "type": "overloaded_error"}}).to_string()),
            Remedy::Retry,
        ),
        (
            event(&json!({"error": {"message": canary, "code": "insufficient_quota"}}).to_string()),
            Remedy::GiveUp,
        ),
        (event(&json!({"error": canary, "choices": []}).to_string()), Remedy::Retry),
        (event(&json!({"object": "error", "message": canary, "code": 503}).to_string()), Remedy::Retry),
        (format!("event: error\ndata: {}\n\n", json!({"message": canary})).into_bytes(), Remedy::Retry),
    ] {
        let (chunks, error) = chunks_of_body([text_event("a"), body].concat()).await;
        let error = error.unwrap();
        assert_eq!((chunks, error.remedy()), (vec![text("a")], remedy));
        assert!(matches!(error.fault(), ProviderFault::Reported { .. }));
        assert_eq!(error.message().unwrap().expose_tainted(), canary);
        assert!(!format!("{error} {error:?}").contains(canary));
    }
}

#[tokio::test]
async fn what_is_not_the_dialect_is_malformed_after_the_text_before_it() {
    for bad in ["pong", "{\"choices\": 7}", "[1]", "{\"choices\": [{\"delta\": {\"content\": 7}}]}", "{"] {
        let (chunks, error) = chunks_of_body([text_event("a"), event(bad)].concat()).await;
        assert_eq!(chunks, [text("a")]);
        let reason = MalformedReply::NotTheDialect;
        assert_eq!(error.unwrap().fault(), &ProviderFault::Malformed { reason }, "{bad}");
    }
}

#[tokio::test]
async fn a_server_without_streaming_may_answer_in_one_piece() {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "Hi", "tool_calls": [
            {"id": "c", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let json_reply =
        || reply("200 OK", "content-type: application/json; charset=utf-8\r\n", &body.to_string());
    let mut peer = Peer::start(vec![vec![json_reply()], vec![json_reply()]]).await;
    let provider = peer.provider();
    let chunks: Vec<_> = within(provider.stream(&request()).await.unwrap().collect()).await;
    let streamed = fold(chunks.into_iter().map(|chunk| chunk.unwrap()).collect());
    assert!(peer.request().await.contains("\"stream\":true"));
    let whole = within(provider.complete(&request())).await.unwrap();
    assert!(peer.request().await.contains("\"stream\":false"));
    assert_eq!(streamed, whole);
    assert_eq!((whole.text.as_str(), whole.usage), ("Hi", Some(Usage::new(1, 2))));
    assert_eq!(whole.tool_calls[0].arguments, "{\"a\": 1}");
}

#[tokio::test]
async fn a_whole_reply_must_have_choices_and_may_be_an_error() {
    let json_reply =
        |body: Value| vec![reply("200 OK", "content-type: application/json\r\n", &body.to_string())];
    let scripts = vec![json_reply(json!({})), json_reply(json!({"error": {"code": 429}}))];
    let peer = Peer::start(scripts).await;
    let provider = peer.provider();
    let error = within(provider.complete(&request())).await.unwrap_err();
    assert_eq!(error.fault(), &ProviderFault::Malformed { reason: MalformedReply::NotTheDialect });
    let error = within(provider.complete(&request())).await.unwrap_err();
    assert_eq!(error.remedy(), Remedy::Retry);
}

#[tokio::test]
async fn the_request_names_its_path_asks_for_usage_and_carries_the_key_once() {
    let mut peer =
        Peer::start(vec![vec![Act::Send([STREAM_HEAD.as_bytes(), &event("[DONE]")].concat())]]).await;
    let config = loom_llm::http::HttpConfig::new(format!("{}/?api-version=7", peer.base_url()))
        .with_key(loom_llm::ApiKey::new("sk-key").unwrap());
    let provider = loom_llm::openai::OpenAiCompatible::new("peer", config).unwrap();
    let _stream = within(provider.stream(&request())).await.unwrap();
    let sent = peer.request().await;
    assert!(sent.starts_with("POST /v1/chat/completions?api-version=7 HTTP/1.1\r\n"), "{sent}");
    assert_eq!(sent.matches("sk-key").count(), 1);
    assert!(sent.contains("authorization: Bearer sk-key\r\n"));
    assert!(!sent.to_ascii_lowercase().contains("accept-encoding"));
    assert!(sent.contains("\"stream_options\":{\"include_usage\":true}"));
}
