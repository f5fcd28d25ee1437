//! Streams that the runtime severs: by a budget and by a guard.

use loom_effect_runtime::{EffectRuntime, ErrorName};
use loom_llm::{stream_token_budget, token_estimate};
use loom_middleware::Retry;
use loom_safety::{DenyPattern, DenyPatterns, SafetyMiddleware};

use crate::model::{TOKENS_MAX, ask, assert_nothing_unknown_is_zero, greedy, handle, request, within};
use crate::relay::{Ended, Relay};
use crate::view::{Shown, View};

const BUDGET_TOKENS: u64 = 8;
const WORD_BYTES_MIN: usize = 4;

/// The relay saw the client go before the server had written its end.
fn assert_severed(ended: &Ended) {
    assert!(ended.hung_up.is_some() && !ended.complete, "{ended:?}");
}

/// D7: a budget severs in mid-flight; what was shown keeps within it, no retry asks again, and the connection closes.
#[tokio::test]
#[ignore = "needs a real model: cargo xtask real-model"]
async fn a_token_budget_severs_in_mid_flight() {
    let whole = token_estimate(greedy().await.text.len());
    assert!(whole > BUDGET_TOKENS, "the whole reply counts {whole} tokens, which no budget would sever");
    let mut relay = Relay::start(Vec::new()).await;
    let view = View::new();
    let builder = EffectRuntime::builder().allow_all_calls().around(Retry::new());
    let builder =
        builder.middleware(stream_token_budget(BUDGET_TOKENS)).effect(ask(&relay.base_url()).build());
    let (runtime, tool) = handle(builder.build().unwrap());
    let call = runtime.invoke_transient(tool, request(TOKENS_MAX)).on_delta_sink(view.clone()).reported();
    let (failed, report) = within(call).await;
    let error = failed.unwrap_err();
    assert_eq!((error.name(), error.rule()), (ErrorName::QuotaExceeded, Some("stream_token_budget")));
    assert_eq!((report.attempts, report.streamed), (1, false));
    assert_nothing_unknown_is_zero(&report);
    let shown: u64 = view.pieces().iter().map(|piece| token_estimate(piece.len())).sum();
    assert!((1..=BUDGET_TOKENS).contains(&shown), "{shown} tokens were shown");
    assert!(view.lines().iter().all(|line| matches!(line, Shown::Text(_))), "{:?}", view.lines());
    assert_severed(&relay.ended().await);
    assert_eq!(relay.connections(), 1);
}

/// D10: a guard severs before the word that it denies is complete for any sink, though the model wrote it in pieces
/// of its own choice; what was shown until then is what the model says.
#[tokio::test]
#[ignore = "needs a real model: cargo xtask real-model"]
async fn a_guard_severs_before_a_denied_word_is_shown() {
    let text = &greedy().await.text;
    let (word, at) = word_after_the_middle(text).expect("the model said no word that it had not said before");
    let mut relay = Relay::start(Vec::new()).await;
    let (view, configured) = (View::new(), View::new());
    let deny = DenyPatterns::new([DenyPattern::literal(word).named("word")]).unwrap();
    let builder = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new())
        .output_middleware(SafetyMiddleware::new([deny.into()]))
        .effect(ask(&relay.base_url()).on_delta_sink(configured.clone()).build());
    let (runtime, tool) = handle(builder.build().unwrap());
    let call = runtime.invoke_transient(tool, request(TOKENS_MAX)).on_delta_sink(view.clone()).reported();
    let (failed, report) = within(call).await;
    let error = failed.unwrap_err();
    assert_eq!((error.name(), error.rule()), (ErrorName::SafetyViolation, Some("deny.word")));
    assert_eq!((report.attempts, report.streamed), (1, false));
    assert_nothing_unknown_is_zero(&report);
    let shown = view.fold();
    assert!(text.starts_with(&shown) && !shown.is_empty() && shown.len() < at + word.len(), "{shown:?}");
    assert!(!shown.contains(word));
    assert_eq!(configured.lines(), view.lines());
    assert_severed(&relay.ended().await);
}

/// The first word from the middle on that did not occur before, and where it stands.
fn word_after_the_middle(text: &str) -> Option<(&str, usize)> {
    let words = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() >= WORD_BYTES_MIN);
    let placed = words.filter_map(|word| Some((word, text.find(word)?)));
    placed.filter(|(_, at)| *at > 0).min_by_key(|(_, at)| at.abs_diff(text.len() / 2))
}
