//! Attempts that succeed and attempts that fail, and what becomes of them.

use std::time::Duration;

use loom_effect_runtime::{CallError, ErrorName, FailureChannel, TypedFailure};
use serde_json::Value;

use super::came::Came;
use super::probe::Plan;
use super::stage::{Ask, Scene, Stage};
use crate::kit::report::{Check, Report};

/// Longer than any memo may be expected to remember.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(90 * 24 * 3600);

/// A success comes out as success, with the proof of its own room, streamed or not.
pub(crate) async fn successes_are_kept(stage: &Stage, report: &mut Report) {
    report.checked(Check::SuccessKept);
    for plan in [Plan::Ready, Plan::Smooth, Plan::Flaky] {
        for streamed in [false, true] {
            let Some(scene) = stage.scene(report, plan.clone()) else { return };
            let ask = Ask { streamed, ..Ask::plain("success") };
            for call in ["first", "second"] {
                let played = scene.play(report, &ask).await;
                let came = Came::of(played.result.as_ref());
                let none_succeeded = matches!(plan, Plan::Flaky) && played.report.attempts < 2;
                report.must(Check::SuccessKept, came.gave() || none_succeeded || came.is_judged(), || {
                    format!("the {call} call of an effect that succeeds ({plan:?}) came to {}", came.brief())
                });
            }
            report.must(Check::SuccessKept, !scene.warned.success_dropped(), || {
                format!("it made an error of a success ({plan:?})")
            });
        }
    }
}

/// A failure in every attempt comes out as that failure, also where an earlier call had succeeded.
pub(crate) async fn failures_come_out(stage: &Stage, report: &mut Report, serves_stale: bool) {
    report.checked(Check::NothingSwallowed);
    for failure in failures() {
        for succeeded_before in [false, true] {
            let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
            let ask = Ask::plain("failure").streamed();
            let mut kept = None;
            if succeeded_before {
                kept = Some(scene.came(&ask).await);
                tokio::time::sleep(FORGOTTEN_AFTER).await;
            }
            scene.shared.plan(failure.as_ref().map_or(Plan::Panics, |error| Plan::Fails(error.clone())));
            failing(&scene, report, &ask, &failure, kept.filter(|_| serves_stale)).await;
        }
    }
}

async fn failing(
    scene: &Scene,
    report: &mut Report,
    ask: &Ask,
    failure: &Option<CallError>,
    stale: Option<Came>,
) {
    let started = scene.shared.started();
    let played = scene.play(report, ask).await;
    if scene.shared.started() == started && played.output().is_some() {
        // A memo that still remembers: nothing ran and nothing failed.
        return;
    }
    let came = Came::of(played.result.as_ref());
    if came.is_judged() {
        return;
    }
    let name = failure.as_ref().map_or(ErrorName::EffectPanicked, CallError::name);
    let out = played.error().is_some_and(|error| is_of(error.name(), name));
    report.must(Check::NothingSwallowed, out || stale.is_some_and(|kept| kept == came), || {
        format!("every attempt failed with {name} and the call came to {}", came.brief())
    });
}

/// One failure of each name that is no refusal; `None` stands for a panic.
fn failures() -> impl Iterator<Item = Option<CallError>> {
    let typed = CallError::from(TypedFailure::new(FailureChannel::new("kit"), Value::Null));
    let names = ErrorName::ALL.iter().copied();
    names
        .filter(|name| {
            !name.is_refusal() && !matches!(name, ErrorName::EffectPanicked | ErrorName::TypedFailure)
        })
        .map(|name| Some(CallError::named(name, "the kit's effect failed")))
        .chain([Some(typed), None])
}

/// The failure itself, or the time that ran out over it.
fn is_of(name: ErrorName, failure: ErrorName) -> bool {
    name == failure || name == ErrorName::DeadlineExceeded
}
