//! Calls that are dropped or aborted at each of their awaits.

use std::cell::Cell;
use std::sync::Arc;

use loom_effect_runtime::{AbortReason, Effect, Signal};

use super::lab::{Bench, Lab, brief, judge};
use super::runs::{alike, same_end};
use crate::kit::bounded::ends;
use crate::kit::call::aborts::{KitAbort, raise_at, settled_tasks};
use crate::kit::call::cancels::{AWAITS_MAX, RECOVERY};
use crate::kit::play::View;
use crate::kit::polls::at_most;
use crate::kit::report::{Check, Report};

/// How many calls are dropped at one await before a whole one is made.
const DROPPED: usize = 16;

/// Drops calls at each await: no task is left behind, nothing is delivered afterwards, and the next comes to what a first
/// one comes to.
pub(super) async fn leave_no_trace<E: Effect>(
    lab: &Lab<E>,
    report: &mut Report,
    input: &E::Input,
    repeatable: bool,
) {
    report.checked(Check::CancelSafe);
    let Some(bench) = lab.bench(report) else { return };
    let first = bench.play(input, false).await;
    for await_no in 0..=first.polls.min(AWAITS_MAX) {
        let Some(bench) = lab.bench(report) else { return };
        let tasks = settled_tasks().await;
        let view = View::default();
        for _ in 0..DROPPED {
            let _ = ends(at_most(await_no, bench.start(input, Some(&view), None))).await;
        }
        report.must(Check::AbortObeyed, settled_tasks().await <= tasks, || {
            format!("a task is left behind by a call dropped at its poll {await_no}")
        });
        silent(report, &view, "dropped").await;
        let played = bench.play(input, false).await;
        let fits = if repeatable { alike::<E>(&first, &played) } else { same_end::<E>(&first, &played) };
        report.must(Check::CancelSafe, fits, || {
            let came = brief(played.result.as_ref());
            format!(
                "after {DROPPED} calls were dropped at their poll {await_no}, a whole call came to {came}"
            )
        });
    }
}

/// The signal raised at each await ends the call with the caller's own reason.
pub(super) async fn are_obeyed<E: Effect>(lab: &Lab<E>, report: &mut Report, input: &E::Input) {
    report.checked(Check::AbortObeyed);
    for await_no in 0..=AWAITS_MAX {
        let Some(bench) = lab.bench(report) else { return };
        if !abort_at(&bench, report, input, await_no).await {
            return;
        }
    }
}

/// Whether the call lived to be aborted.
async fn abort_at<E: Effect>(
    bench: &Bench<E>,
    report: &mut Report,
    input: &E::Input,
    await_no: usize,
) -> bool {
    let tasks = settled_tasks().await;
    let (signal, reason): (_, AbortReason) = (Signal::new(), Arc::new(KitAbort));
    let (view, raised) = (View::default(), Cell::new(false));
    let raise = || {
        raised.set(true);
        signal.abort(Arc::clone(&reason));
    };
    let call = bench.start(input, Some(&view), Some(signal.clone()));
    let result = ends(raise_at(await_no, call, raise)).await.map(|(result, _)| result);
    if !raised.get() {
        return false;
    }
    judge::<E>(report, input, result.as_ref());
    let given = result.as_ref().and_then(|result| result.as_ref().err()?.abort_reason());
    report.must(Check::AbortObeyed, given.is_some_and(|given| Arc::ptr_eq(&given, &reason)), || {
        format!("the signal was raised at poll {await_no} and the call came to {}", brief(result.as_ref()))
    });
    report.must(Check::AbortObeyed, settled_tasks().await <= tasks, || {
        format!("a task is left behind by a call aborted at its poll {await_no}")
    });
    silent(report, &view, "aborted").await;
    true
}

/// An hour on, nothing more was delivered.
async fn silent(report: &mut Report, view: &View, how: &str) {
    let seen = view.seen();
    tokio::time::sleep(RECOVERY).await;
    report.must(Check::AbortObeyed, view.seen() == seen, || {
        format!("something was delivered after the call was {how}")
    });
}
