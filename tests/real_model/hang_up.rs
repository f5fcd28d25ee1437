//! An abort in mid-stream, as the server sees it.

use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{AbortError, AbortReason, Signal};
use tokio::time::Instant;

use crate::model::{ask, assert_nothing_unknown_is_zero, base_url, request, runtime, within};
use crate::relay::Relay;
use crate::view::View;

/// At 28 tokens a second the model would speak for more than half a minute.
const LONG_TOKENS: u32 = 1024;
/// Time for one token of a server that nobody else asks, on a busy machine.
const PROMPT_ANSWER: Duration = Duration::from_secs(10);
const HANG_UP: Duration = Duration::from_secs(1);
/// The token that is under way, and the one that the server is at when it looks.
const EVENTS_AFTER_MAX: usize = 2;

/// D8: an abort in mid-stream gives its own reason and closes the connection at once; the server stops within a token
/// or two and is free for the next request.
#[tokio::test]
#[ignore = "needs a real model: cargo xtask real-model"]
async fn an_abort_reaches_the_server_within_a_token() {
    let mut relay = Relay::start(Vec::new()).await;
    let (signal, view) = (Signal::new(), View::new());
    let (runtime, tool) = runtime(ask(&relay.base_url()));
    let call = runtime.invoke_transient(tool, request(LONG_TOKENS)).on_delta_sink(view.clone());
    let call = tokio::spawn(call.signal(signal.clone()).reported());
    within(view.texts(3)).await;
    let reason: AbortReason = Arc::new(AbortError::default());
    let (written, since) = (relay.events(), Instant::now());
    signal.abort(Arc::clone(&reason));
    let (failed, report) = within(call).await.unwrap();
    let shown = view.lines();
    assert!(Arc::ptr_eq(&failed.unwrap_err().abort_reason().unwrap(), &reason));
    assert_nothing_unknown_is_zero(&report);

    let ended = relay.ended().await;
    let hung_up = ended.hung_up.expect("the client closes first");
    assert!(hung_up - since < HANG_UP, "after {:?}", hung_up - since);
    assert!(!ended.complete && ended.events - written <= EVENTS_AFTER_MAX, "{written}, then {ended:?}");
    assert_eq!(view.lines(), shown, "nothing is shown after the abort");

    let (runtime, tool) = crate::model::runtime(ask(&base_url()));
    let since = Instant::now();
    within(runtime.invoke_transient(tool, request(1)).into_future()).await.unwrap();
    assert!(since.elapsed() < PROMPT_ANSWER, "after {:?}", since.elapsed());
}
