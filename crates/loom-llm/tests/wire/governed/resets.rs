//! Attempts that follow one another: cut streams, resets, and what a view holds at the end.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::{Around, EffectRuntime, Usage, around};

use super::view::View;
use super::{ask, gate, handle, streamed, texts_then_end, usage_event};
use crate::peer::{Act, Peer, request, text_event, within};

/// Runs the call again once, after any failure that is not a refusal.
fn again_once() -> impl Around {
    around("again_once", |_call, mut next| {
        Box::pin(async move {
            match next.run().await {
                Err(error) if !error.is_refusal() => next.run().await,
                done => done,
            }
        })
    })
}

/// D11: a connection that is cut in mid-stream is one reset to every view, before any text of the second attempt;
/// what the view folds to is the reply, and what both attempts spent is kept.
#[tokio::test]
async fn a_cut_connection_is_one_reset_and_the_fold_is_the_content() {
    let shown = gate();
    let cut = vec![
        Act::Send([text_event("Once upon"), usage_event(5, 1), text_event(" a")].concat()),
        // Only when all of it was shown, since a reset of the connection may overtake what is under way.
        Act::Gate(Arc::clone(&shown)),
        Act::Cut,
    ];
    let whole =
        vec![Act::Send([text_event("Twice "), usage_event(5, 3)].concat()), texts_then_end(&["upon"])];
    let peer = Peer::start(vec![streamed(cut), streamed(whole)]).await;
    let (view, configured) = (View::new(), View::new());
    let told: Arc<Mutex<Vec<(u64, u32)>>> = Arc::default();
    let resets = Arc::clone(&told);
    let effect = ask(peer.provider())
        .on_delta_sink(configured.clone())
        .on_reset(move |call, attempt| resets.lock().unwrap().push((call.number(), attempt)));
    let builder = EffectRuntime::builder().allow_all_calls().around(again_once()).effect(effect.build());
    let (runtime, tool) = handle(builder.build().unwrap());
    let sink = view.clone().opening(" a", &shown);
    let (reply, report) =
        within(runtime.invoke_transient(tool, request()).on_delta_sink(sink).reported()).await;
    assert_eq!(reply.unwrap().content.unwrap_tainted(), view.fold());
    assert_eq!(view.lines(), ["Once upon", " a", "<reset 2>", "Twice ", "upon", "<done Some(5) Some(3)>"]);
    assert_eq!(configured.lines(), ["Once upon", " a", "<reset 2>", "Twice ", "upon"]);
    assert_eq!(told.lock().unwrap().iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(), [2]);
    assert_eq!((report.attempts, report.usage), (2, Some(Usage::new(10, 4))));
    assert_eq!(peer.connections(), 2, "the provider itself asks once an attempt");
}

/// D11: who only wants to hear of resets hears of them, without a sink.
#[tokio::test]
async fn on_reset_needs_no_sink() {
    let peer = Peer::start(vec![streamed(vec![Act::Cut]), streamed(vec![texts_then_end(&["a"])])]).await;
    let told: Arc<Mutex<Vec<u32>>> = Arc::default();
    let resets = Arc::clone(&told);
    let effect = ask(peer.provider()).on_reset(move |_, attempt| resets.lock().unwrap().push(attempt));
    let builder = EffectRuntime::builder().allow_all_calls().around(again_once()).effect(effect.build());
    let (runtime, tool) = handle(builder.build().unwrap());
    within(async { runtime.invoke_transient(tool, request()).await }).await.unwrap();
    assert_eq!(*told.lock().unwrap(), [2]);
}
