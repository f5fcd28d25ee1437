//! Replies that do not stream, and providers that are no wire at all.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use loom_effect_runtime::{ErrorName, Usage};
use loom_llm::{ChatRequest, ChunkStream, Collected, Provider, ProviderError, ProviderFault, ToolCall};
use serde_json::json;

use super::view::View;
use super::{ask, runtime};
use crate::peer::{Peer, reply, request, within};

/// Answers whole or not at all.
struct Whole(Option<Collected>);

impl Whole {
    fn cannot_stream<T>() -> Result<T, ProviderError> {
        Err(ProviderError::new("whole", ProviderFault::CannotStream))
    }
}

impl Provider for Whole {
    fn name(&self) -> &str {
        "whole"
    }

    fn stream<'a>(&'a self, _: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
        async { Self::cannot_stream() }.boxed()
    }

    fn complete<'a>(&'a self, _: &'a ChatRequest) -> BoxFuture<'a, Result<Collected, ProviderError>> {
        let reply = self.0.clone();
        async { reply.map_or_else(Self::cannot_stream, Ok) }.boxed()
    }
}

/// D11: a reply that is asked for in one piece streams nothing: no delta, no done, and the report says so; the
/// provider's usage is kept.
#[tokio::test]
async fn streaming_switched_off_sends_no_delta_and_no_done() {
    let body = json!({
        "choices": [{"message": {"content": "Hi", "refusal": "!"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 1},
    });
    let script = vec![reply("200 OK", "content-type: application/json\r\n", &body.to_string())];
    let mut peer = Peer::start(vec![script]).await;
    let (view, configured) = (View::new(), View::new());
    let (runtime, tool) = runtime(ask(peer.provider()).stream(false).on_delta_sink(configured.clone()));
    let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone()).reported();
    let (reply, report) = within(call).await;
    let reply = reply.unwrap();
    assert!(peer.request().await.contains("\"stream\":false"));
    assert_eq!((reply.content.unwrap_tainted().as_str(), reply.refused), ("Hi!", true));
    assert_eq!(reply.finish_reason, Some(loom_llm::FinishReason::Length));
    assert_eq!((report.streamed, report.usage), (false, Some(Usage::new(2, 1))));
    assert!(view.lines().is_empty() && configured.lines().is_empty());
}

/// D11: the same where the provider says that it cannot stream; what it does not know of its usage stays unknown.
#[tokio::test]
async fn a_provider_that_cannot_stream_is_asked_for_the_whole_reply() {
    let mut whole = Collected::default();
    whole.text = "Hi".to_owned();
    whole.usage = Some(Usage::default());
    whole.tool_calls = vec![ToolCall::default()];
    let view = View::new();
    let (runtime, tool) = runtime(ask(Arc::new(Whole(Some(whole)))));
    let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone()).reported();
    let (reply, report) = within(call).await;
    let reply = reply.unwrap();
    assert_eq!(reply.content.unwrap_tainted(), "Hi");
    assert_eq!((reply.usage, report.usage, report.streamed), (None, None, false));
    assert_eq!(reply.tool_calls[0].arguments.expose_tainted(), "");
    assert!(view.lines().is_empty());
}

#[tokio::test]
async fn a_provider_that_can_do_neither_fails_the_call() {
    let (runtime, tool) = runtime(ask(Whole(None)));
    let error = within(runtime.invoke_transient(tool, request()).into_future()).await.unwrap_err();
    assert_eq!(error.name(), ErrorName::Provider);
    assert_eq!(ProviderError::behind(&error).unwrap().fault(), &ProviderFault::CannotStream);
}

/// D3: what an unstreamed reply spent before it failed is in the report of its call.
#[tokio::test]
async fn an_unstreamed_reply_that_fails_reports_its_usage() {
    let body = json!({"choices": [{"message": {"content": "half"}, "finish_reason": "error"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7}});
    let failed = vec![reply("200 OK", "content-type: application/json\r\n", &body.to_string())];
    let peer = Peer::start(vec![failed]).await;
    let (runtime, tool) = runtime(ask(peer.provider()).stream(false));
    let (result, report) = within(runtime.invoke_transient(tool, request()).reported()).await;
    assert_eq!((result.is_err(), report.usage), (true, Some(Usage::new(5, 7))));
}
