//! How streams end early: severed, aborted, dropped, over budget, failed; and what the server sees of it.

use std::sync::Arc;

use loom_effect_runtime::{
    AbortError, DeltaForm, DeltaGuard, DeltaKinds, EffectDelta, EffectRuntime, ErrorName, Lane, Outlet,
    Signal, Step, Usage, Verdict, Violation, inspect,
};
use loom_llm::{ProviderError, ProviderFault, Remedy, stream_token_budget};
use serde_json::json;
use tokio::time::Instant;

use super::view::View;
use super::{ask, event, gate, handle, runtime, usage_event};
use crate::hang_up::sees_hang_up;
use crate::peer::{Act, Peer, reply, request, text_event, within};

/// Severs at the first piece that holds `bad`.
struct NoBad;

impl DeltaForm for NoBad {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &loom_effect_runtime::CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Self)
    }
}

impl DeltaGuard for NoBad {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        if text.contains("bad") { Verdict::Sever(Violation::safety("no_bad")) } else { Verdict::Pass }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// D15: a sever by a guard fails the call, the offending piece reaches nobody, nothing terminal is sent, and the
/// server sees the connection close within a second, be it silent or talking.
#[tokio::test]
async fn a_severed_stream_closes_the_connection() {
    for rest in [Act::AwaitHangUp, Act::Flood(text_event("more"))] {
        let body = [text_event("ok "), usage_event(3, 1), text_event("bad"), usage_event(99, 99)].concat();
        let mut peer = Peer::streaming(vec![Act::Send(body), rest]).await;
        let (view, configured) = (View::new(), View::new());
        let builder = EffectRuntime::builder()
            .allow_all_calls()
            .output_middleware(inspect("no_bad", Some(Arc::new(NoBad)), |_, _| Step::Go))
            .effect(ask(peer.provider()).on_delta_sink(configured.clone()).build());
        let (runtime, tool) = handle(builder.build().unwrap());
        let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone()).reported();
        let (failed, report) = within(call).await;
        let since = Instant::now();
        let error = failed.unwrap_err();
        assert_eq!((error.name(), error.rule()), (ErrorName::SafetyViolation, Some("no_bad")));
        assert_eq!((view.lines(), configured.lines()), (vec!["ok ".into()], vec!["ok ".into()]));
        assert_eq!(report.usage, Some(Usage::new(3, 1)), "nothing is read beyond the sever");
        peer.request().await;
        sees_hang_up(&mut peer, since).await;
    }
}

/// D8: an abort in mid-stream, or before the reply begins, gives the aborter's own error; the server sees it at once.
#[tokio::test]
async fn an_abort_gives_its_own_reason_and_closes_the_connection() {
    for script in [
        vec![Act::Send([text_event("a"), usage_event(4, 1), text_event("b")].concat()), Act::AwaitHangUp],
        vec![],
    ] {
        let begun = !script.is_empty();
        let mut peer = if begun {
            Peer::streaming(script).await
        } else {
            Peer::start(vec![vec![Act::AwaitHangUp]]).await
        };
        let (runtime, tool) = runtime(ask(peer.provider()));
        let (signal, shown, view) = (Signal::new(), gate(), View::new());
        let sink = view.clone().opening("b", &shown);
        let call = runtime.invoke_transient(tool, request()).on_delta_sink(sink).signal(signal.clone());
        let call = tokio::spawn(call.reported());
        peer.request().await;
        if begun {
            within(shown.notified()).await;
        }
        let reason: loom_effect_runtime::AbortReason = Arc::new(AbortError::default());
        let since = Instant::now();
        signal.abort(Arc::clone(&reason));
        let (failed, report) = within(call).await.unwrap();
        let error = failed.unwrap_err();
        assert!(Arc::ptr_eq(&error.abort_reason().unwrap(), &reason));
        assert_eq!(view.lines(), if begun { vec!["a".to_owned(), "b".into()] } else { Vec::new() });
        assert_eq!(report.usage, begun.then_some(Usage::new(4, 1)));
        sees_hang_up(&mut peer, since).await;
    }
}

/// D8: dropping the call's future, which says nothing to anyone, closes the connection too.
#[tokio::test]
async fn a_dropped_call_closes_the_connection() {
    let mut peer = Peer::streaming(vec![Act::Send(text_event("a")), Act::AwaitHangUp]).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let shown = gate();
    let sink = View::new().opening("a", &shown);
    let call = tokio::spawn(runtime.invoke_transient(tool, request()).on_delta_sink(sink).reported());
    peer.request().await;
    within(shown.notified()).await;
    let since = Instant::now();
    call.abort();
    sees_hang_up(&mut peer, since).await;
}

/// D7: a budget severs in mid-flight, as middleware and for one call; the delta that breaks it reaches no sink, and
/// what no sink asked for counts too.
#[tokio::test]
async fn a_token_budget_severs_in_mid_flight_before_the_breaching_delta() {
    let thought = event(&json!({"choices": [{"delta": {"reasoning_content": "12345"}}]}).to_string());
    for of_the_call in [false, true] {
        // 2 + 1 + 2 tokens, then one too many, then a stream that would never end.
        let body = [thought.clone(), text_event("a"), text_event("12345678"), text_event("b")].concat();
        let mut peer = Peer::streaming(vec![Act::Send(body), Act::Flood(text_event("more"))]).await;
        let view = View::new();
        let mut builder = EffectRuntime::builder().allow_all_calls().effect(ask(peer.provider()).build());
        if !of_the_call {
            builder = builder.middleware(stream_token_budget(5));
        }
        let (runtime, tool) = handle(builder.build().unwrap());
        let mut call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone());
        if of_the_call {
            call = call.meter(Arc::new(stream_token_budget(5)));
        }
        let error = within(call.into_future()).await.unwrap_err();
        let since = Instant::now();
        assert_eq!((error.name(), error.rule()), (ErrorName::QuotaExceeded, Some("stream_token_budget")));
        assert!(error.is_refusal(), "nothing retries it");
        assert_eq!(view.lines(), ["a", "12345678"]);
        peer.request().await;
        sees_hang_up(&mut peer, since).await;
    }
}

/// D7: a budget is one attempt's, and a reply that keeps to it is whole.
#[tokio::test]
async fn a_reply_that_keeps_to_the_budget_is_whole() {
    let peer = Peer::streaming(vec![super::texts_then_end(&["a", "12345678", "b"])]).await;
    let builder = EffectRuntime::builder().allow_all_calls().middleware(stream_token_budget(4));
    let (runtime, tool) = handle(builder.effect(ask(peer.provider()).build()).build().unwrap());
    let reply = within(async { runtime.invoke_transient(tool, request()).await }).await.unwrap();
    assert_eq!(reply.content.unwrap_tainted(), "a12345678b");
}

/// D6: a provider's failure in mid-stream sends nothing terminal; its usage is kept; its remedy is reachable, and no
/// word of the provider stands in a message.
#[tokio::test]
async fn a_failure_in_mid_stream_is_typed_and_sends_nothing_terminal() {
    let canary = "canary-of-the-provider";
    let told = json!({"error": {"message": canary, "type": "overloaded_error"}}).to_string();
    let peer =
        Peer::streaming(vec![Act::Send([text_event("a"), usage_event(9, 1), event(&told)].concat())]).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let view = View::new();
    let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone()).reported();
    let (failed, report) = within(call).await;
    let error = failed.unwrap_err();
    assert_eq!(error.name(), ErrorName::Provider);
    assert!(!error.is_refusal(), "a retry may try again");
    let behind = ProviderError::behind(&error).unwrap();
    assert_eq!(behind.remedy(), Remedy::Retry);
    assert_eq!(behind.message().unwrap().expose_tainted(), canary);
    assert!(!format!("{error} {error:?} {behind:?}").contains(canary));
    assert_eq!(view.lines(), ["a"]);
    assert_eq!((report.streamed, report.usage), (false, Some(Usage::new(9, 1))));
}

#[tokio::test]
async fn a_failure_before_the_stream_is_typed_with_its_remedy() {
    let peer = Peer::start(vec![vec![reply("429 Busy", "retry-after: 7\r\n", "canary")]]).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let heard = View::new();
    let sink = heard.clone();
    let call = runtime.invoke_transient(tool, request()).on_delta(move |delta: &EffectDelta<'_>| {
        panic!("nothing was to be heard of {delta:?} {:?}", sink.lines())
    });
    let error = within(call.into_future()).await.unwrap_err();
    let remedy = Remedy::RetryAfter(std::time::Duration::from_secs(7));
    assert_eq!(ProviderError::behind(&error).unwrap().remedy(), remedy);
    assert!(matches!(
        ProviderError::behind(&error).unwrap().fault(),
        ProviderFault::Status { status: 429, .. }
    ));
    assert!(error.to_string().contains("answered with status 429: send the request again later"), "{error}");
}
