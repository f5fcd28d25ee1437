//! What a call allocates.

use std::future::IntoFuture;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::probe::{CANARY, Plan, TOOL};
use super::stage::{Scene, Stage};
use crate::kit::counted;
use crate::kit::report::{Check, Report};

/// Polls within which a call of a ready effect has to be over.
const POLLS_MAX: usize = 64;

/// A call of a ready effect allocates at most so much more with the subject than without: the second of two equal calls.
pub(crate) fn are_bounded(stage: &Stage, report: &mut Report, most: u64) {
    report.checked(Check::Allocations);
    let Some(bare) = Stage::bare().scene(report, Plan::Ready) else { return };
    let Some(dressed) = stage.scene(report, Plan::Ready) else { return };
    let (Some(without), Some(with)) = (of_second_call(&bare), of_second_call(&dressed)) else {
        report.fault(Check::Allocations, "a call of a ready effect has to wait");
        return;
    };
    let more = with.saturating_sub(without);
    report.must(Check::Allocations, more <= most, || {
        format!("a call of a ready effect makes {more} allocations more, at most {most} expected")
    });
}

fn of_second_call(scene: &Scene) -> Option<u64> {
    of_call(scene)?;
    of_call(scene)
}

fn of_call(scene: &Scene) -> Option<u64> {
    let tool = scene.runtime.tool::<Value, String>(TOOL).ok()?;
    let input = json!({ "canary": CANARY });
    let mut done = false;
    let counted = counted::allocations(|| {
        let mut call = pin!(scene.runtime.invoke_transient(tool, input).into_future());
        let mut cx = Context::from_waker(Waker::noop());
        done = (0..POLLS_MAX).any(|_| match call.as_mut().poll(&mut cx) {
            Poll::Ready(result) => {
                drop(black_box(result));
                true
            }
            Poll::Pending => false,
        });
    });
    done.then_some(counted)
}
