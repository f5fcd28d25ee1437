//! Calls whose signal is raised at one of their awaits, and tasks that outlive their call.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use loom_effect_runtime::{AbortReason, CallError, Signal};

use super::came::Came;
use super::cancels::{RECOVERY, drop_at, polls_of};
use super::probe::{Plan, passing};
use super::stage::{Ask, Stage};
use crate::kit::bounded::ends;
use crate::kit::report::{Check, Report};

/// The reason that the kit aborts with.
#[derive(Debug)]
pub(crate) struct KitAbort;

impl fmt::Display for KitAbort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the kit aborted the call")
    }
}

impl std::error::Error for KitAbort {}

/// The signal raised at each await ends the call with the caller's own reason, and neither an abort nor a drop leaves a
/// task behind.
pub(crate) async fn are_obeyed(stage: &Stage, report: &mut Report) {
    report.checked(Check::AbortObeyed);
    for plan in [Plan::Smooth, Plan::Flaky, Plan::Parks] {
        let Some(polls) = polls_of(stage, report, &plan).await else { return };
        for await_no in 0..=polls {
            if abort_at(stage, report, &plan, await_no).await.is_none() {
                return;
            }
        }
    }
}

async fn abort_at(stage: &Stage, report: &mut Report, plan: &Plan, await_no: usize) -> Option<()> {
    let ask = Ask::plain("aborted");
    let scene = stage.scene(report, plan.clone())?;
    if !matches!(plan, Plan::Parks) {
        // What a subject starts once and keeps for its life is there before the call is watched.
        let _ = scene.ask(&Ask::plain("before")).await;
    }
    let tasks = settled_tasks().await;
    let finished = scene.shared.finished();
    let (signal, reason) = (Signal::new(), AbortReason::from(Arc::new(KitAbort) as AbortReason));
    let raised_after = std::cell::Cell::new(None);
    let raise = || {
        raised_after.set(Some(scene.shared.finished() > finished));
        signal.abort(Arc::clone(&reason));
    };
    let ended = ends(raise_at(await_no, scene.start(&ask, None, Some(signal.clone())), raise)).await;
    let result = ended.map(|(result, _)| result);
    if let Some(effect_done) = raised_after.get() {
        let fits = obeyed(result.as_ref(), &reason, effect_done);
        report.must(Check::AbortObeyed, fits, || {
            let came = Came::of(result.as_ref()).brief();
            format!("the signal was raised at poll {await_no} and the call came to {came}")
        });
    }
    report.must(Check::AbortObeyed, settled_tasks().await <= tasks, || {
        format!("a task is left behind by a call aborted at poll {await_no}")
    });
    let tasks = settled_tasks().await;
    drop_at(&scene, &Ask::plain("dropped"), await_no).await;
    report.must(Check::AbortObeyed, settled_tasks().await <= tasks, || {
        format!("a task is left behind by a call dropped at poll {await_no}")
    });
    Some(())
}

/// The caller's own reason; or, where the effect had come to its end before, what it had come to.
fn obeyed(result: Option<&Result<String, CallError>>, reason: &AbortReason, effect_done: bool) -> bool {
    match result {
        None => false,
        Some(Ok(_)) => effect_done,
        Some(Err(error)) => match error.abort_reason() {
            Some(given) => Arc::ptr_eq(&given, reason),
            None => effect_done && error.name() == passing().name(),
        },
    }
}

/// Awaits a future and raises at its `polls`th pending poll, or where it stands still for an hour before.
pub(crate) async fn raise_at<F: Future>(polls: usize, future: F, raise: impl FnOnce()) -> F::Output {
    let mut future = Box::pin(future);
    let mut still = Box::pin(tokio::time::sleep(RECOVERY));
    let mut raise = Some(raise);
    let mut polled = 0;
    poll_fn(|cx| {
        if (polled >= polls || still.as_mut().poll(cx).is_ready())
            && let Some(raise) = raise.take()
        {
            raise();
        }
        polled += 1;
        match future.as_mut().poll(cx) {
            Poll::Pending if polled == polls => {
                // Raised between two polls: the call has to be woken by it.
                if let Some(raise) = raise.take() {
                    raise();
                }
                Poll::Pending
            }
            polled => polled,
        }
    })
    .await
}

/// How many tasks live, once those that were told to end had their turn.
pub(crate) async fn settled_tasks() -> usize {
    const TURNS: usize = 32;
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}
