//! From chunks to a reply: what is kept when it fails, and how tokens are counted.

use std::convert::Infallible;
use std::future::{pending, ready};

use futures::stream;
use loom_llm::chunk::TOOL_CALLS_MAX;
use loom_llm::collect::Stopped;
use loom_llm::error::MalformedReply;
use loom_llm::{Collected, LlmChunk, Provider, ProviderError, ProviderFault, StreamFailure, Usage};
use loom_llm::{collect_stream, token_estimate};

use crate::peer::{Act, Peer, event, request, text_event, within};

type Outcome = Result<Collected, StreamFailure<Infallible, Infallible>>;

async fn collect(chunks: Vec<Result<LlmChunk, ProviderError>>) -> Outcome {
    collect_stream("script", stream::iter(chunks), |_| Ok(()), |_| Ok(()), pending()).await
}

fn fault_of(outcome: Outcome) -> ProviderFault {
    match outcome.unwrap_err().error {
        Stopped::Provider(error) => error.fault().clone(),
        other => panic!("expected a provider's error, got {other:?}"),
    }
}

/// D3: the usage reported before a failure is kept with it.
#[tokio::test]
async fn a_broken_stream_keeps_the_usage_and_the_bytes_delivered_and_sends_nothing_again() {
    let usage = event(r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#);
    let body = [text_event("héllo"), usage, text_event("!")].concat();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n";
    let peer = Peer::start(vec![vec![Act::Send([head.as_bytes(), &body].concat())]]).await;
    let stream = peer.provider().stream(&request()).await.unwrap();
    let pass = |_: &LlmChunk| Ok::<(), Infallible>(());
    let failure =
        within(collect_stream("peer", stream, pass, pass, pending::<Infallible>())).await.unwrap_err();
    assert_eq!(failure.usage, Some(Usage::new(3, 1)));
    assert_eq!(failure.delivered_bytes, 7);
    assert!(matches!(&failure.error, Stopped::Provider(error)
        if matches!(error.fault(), ProviderFault::Disconnected { .. })));
    assert_eq!(peer.connections(), 1, "a completion is never asked for twice");
}

#[tokio::test]
async fn a_cancel_that_came_first_wins_over_a_chunk_that_waits() {
    let chunk = LlmChunk::Text { choice: 0, text: "a".to_owned() };
    let pass = |_: &LlmChunk| Err("must not be asked");
    let failure =
        collect_stream("script", stream::iter([Ok(chunk)]), pass, pass, ready(7)).await.unwrap_err();
    assert!(matches!(failure.error, Stopped::Cancelled(7)));
}

#[tokio::test]
async fn only_choice_zero_is_the_reply() {
    let text = |choice, text: &str| Ok(LlmChunk::Text { choice, text: text.to_owned() });
    let reply = collect(vec![text(0, "a"), text(1, "b"), text(0, "c")]).await.unwrap();
    assert_eq!(reply, {
        let mut expected = Collected::default();
        expected.text = "ac".to_owned();
        expected
    });
}

#[tokio::test]
async fn a_provider_without_bounds_of_its_own_is_bounded_here() {
    let piece = "x".repeat(1 << 20);
    let chunks = (0..33).map(|_| Ok(LlmChunk::Text { choice: 0, text: piece.clone() })).collect();
    assert_eq!(
        fault_of(collect(chunks).await),
        ProviderFault::Malformed { reason: MalformedReply::TooLarge }
    );
    let stray = LlmChunk::ToolArguments {
        choice: 0,
        call: TOOL_CALLS_MAX,
        id: None,
        name: None,
        arguments: String::new(),
    };
    let reason = MalformedReply::TooManyToolCalls;
    assert_eq!(fault_of(collect(vec![Ok(stray)]).await), ProviderFault::Malformed { reason });
}

/// D7: the budget's unit is a token of four bytes, at least one a delta.
#[test]
fn tokens_are_estimated_from_bytes() {
    for (bytes, tokens) in [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)] {
        assert_eq!(token_estimate(bytes), tokens);
    }
}
