//! Arounds that keep to their trait.

use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{Around, CallError, ErrorName, around};
use loom_testing::kit::{self, Check};
use tokio::sync::Semaphore;

use crate::memo::Memo;

fn retry() -> impl Around {
    around("retry", |call, mut next| {
        Box::pin(async move {
            for _ in 0..2 {
                match next.run().await {
                    Err(error) if !error.is_refusal() && next.may_run().is_ok() => {}
                    ended => return ended,
                }
                match call.sleep(Duration::from_secs(1)) {
                    Some(pause) => pause.await,
                    None => break,
                }
            }
            next.run().await
        })
    })
}

fn timeout() -> impl Around {
    around("timeout", |call, mut next| {
        Box::pin(async move {
            let Some(over) = call.sleep(Duration::from_secs(30)) else { return next.run().await };
            let late = CallError::named(ErrorName::DeadlineExceeded, "the attempt took too long");
            tokio::select! {
                ended = next.run() => ended,
                () = over => Err(late),
            }
        })
    })
}

fn bulkhead() -> impl Around {
    let permits = Arc::new(Semaphore::new(4));
    around("bulkhead", move |_call, mut next| {
        let permits = Arc::clone(&permits);
        Box::pin(async move {
            let _permit = permits.acquire().await;
            next.run().await
        })
    })
}

#[test]
fn an_around_that_runs_once_passes() {
    kit::around(|| around("once", |_call, mut next| Box::pin(async move { next.run().await }))).check();
}

#[test]
fn a_retry_a_timeout_and_a_bulkhead_pass() {
    kit::around(retry).check();
    kit::around(timeout).check();
    kit::around(bulkhead).check();
}

#[test]
fn a_memo_with_single_flight_by_the_whole_key_passes() {
    kit::around(|| Memo::by(|call, input| call.memo_key(input).unwrap())).check();
}

#[test]
fn every_check_of_the_kit_is_made() {
    let report = kit::around(retry).report();
    for check in [
        Check::RefusalFinal,
        Check::SuccessKept,
        Check::NothingSwallowed,
        Check::LiveText,
        Check::KeyComplete,
        Check::CancelSafe,
        Check::AbortObeyed,
        Check::Ends,
        Check::NeverBlocks,
        Check::NoPanic,
        Check::NoEcho,
        Check::Named,
        Check::Repeatable,
    ] {
        assert!(report.checks().contains(&check), "{check}: {report}");
    }
}
