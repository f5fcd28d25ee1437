//! The dialect over a real connection: requests as they are sent, replies in packets and in one piece.

use futures::StreamExt;
use loom_llm::error::MalformedReply;
use loom_llm::{LlmChunk, Provider, ProviderError, ProviderFault, Remedy, Usage};
use serde_json::{Value, json};

use super::{end, fold};
use crate::fixtures::recordings;
use crate::peer::{Act, Peer, STREAM_HEAD, event, reply, request, text_event, within};

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
            let said = super::splits::said(reply);
            assert_eq!(said, recording.said(), "{} in packets of {size}", recording.name);
        }
    }
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

/// Complaint 10, usage is lost when the reply fails: the error of a connection that broke keeps it, and an error inside
/// the reply keeps its words apart.
#[tokio::test]
async fn an_error_inside_a_stream_comes_after_what_was_told_before_it() {
    let canary = "canary-in-the-error";
    let told = json!({"error": {"message": canary, "code": 400}, "usage": {"prompt_tokens": 2, "completion_tokens": 1}});
    let (chunks, error) = chunks_of_body([text_event("a"), event(&told.to_string())].concat()).await;
    let error = error.unwrap();
    let text = LlmChunk::Text { choice: 0, text: "a".to_owned() };
    assert_eq!(chunks, [text, LlmChunk::Usage(Usage::new(2, 1))]);
    assert_eq!(error.remedy(), Remedy::FixRequest);
    assert!(matches!(error.fault(), ProviderFault::Reported { .. }));
    assert_eq!(error.message().unwrap().expose_tainted(), canary);
    assert!(!format!("{error} {error:?}").contains(canary));
}

/// Complaint 10, usage is lost when the reply fails: one in one piece has nothing else to tell, and tells it.
#[tokio::test]
async fn a_whole_reply_that_fails_keeps_its_usage() {
    let body = json!({"choices": [{"message": {"content": "half"}, "finish_reason": "error"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7}});
    let failed = vec![reply("200 OK", "content-type: application/json\r\n", &body.to_string())];
    let peer = Peer::start(vec![failed]).await;
    let error = within(peer.provider().complete(&request())).await.unwrap_err();
    assert_eq!((error.usage(), error.delivered_bytes()), (Some(Usage::new(5, 7)), 0));
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

/// Azure: the deployment in the path, the version in the query, the key bare in a header of its own.
#[tokio::test]
async fn a_deployment_on_azure_is_asked_in_its_own_way() {
    let body = [
        event(
            r#"{"choices":[],"model":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}"#,
        ),
        text_event("Hi"),
        event(&end().to_string()),
        event("[DONE]"),
    ];
    let mut peer = Peer::streaming(vec![Act::Send(body.concat())]).await;
    let config = loom_llm::http::HttpConfig::new(format!("http://{}/openai/deployments/plan", peer.address))
        .with_query("api-version", "2024-10-21")
        .with_key(loom_llm::ApiKey::new("azure-key").unwrap())
        .with_key_header("api-key");
    let provider =
        loom_llm::openai::OpenAiCompatible::new("azure", config).unwrap().with_max_completion_tokens();
    let request = request().with_max_tokens(7);
    let chunks: Vec<_> = within(provider.stream(&request).await.unwrap().collect()).await;
    assert_eq!(fold(chunks.into_iter().map(|chunk| chunk.unwrap()).collect()).text, "Hi");
    let sent = peer.request().await;
    let line = "POST /openai/deployments/plan/chat/completions?api-version=2024-10-21 HTTP/1.1\r\n";
    assert!(sent.starts_with(line), "{sent}");
    assert!(sent.contains("api-key: azure-key\r\n") && !sent.to_ascii_lowercase().contains("authorization"));
    assert!(sent.contains("\"max_completion_tokens\":7") && !sent.contains("\"max_tokens\""));
}
