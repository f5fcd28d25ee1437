//! Calls that are dropped at one of their awaits, and those that come after or stand beside.

use std::time::Duration;

use tokio::task::JoinSet;

use super::came::Came;
use super::probe::Plan;
use super::stage::{Ask, Scene, Stage};
use crate::kit::bounded::ends;
use crate::kit::polls::at_most;
use crate::kit::report::{Check, Report};

/// At how many awaits a call is dropped at most.
pub(crate) const AWAITS_MAX: usize = 48;
/// How many calls are dropped at one await before a whole one is made.
const DROPPED: usize = 64;
/// How many calls run at once.
const TOGETHER: usize = 5;
/// What a rate may need to recover, in virtual time.
pub(crate) const RECOVERY: Duration = Duration::from_secs(3600);

/// Drops calls at each await; a whole call is then answered as a first one.
pub(crate) async fn leave_no_trace(stage: &Stage, report: &mut Report) {
    report.checked(Check::CancelSafe);
    for plan in [Plan::Smooth, Plan::Flaky] {
        let Some(polls) = polls_of(stage, report, &plan).await else { return };
        for await_no in 1..=polls {
            let Some(scene) = stage.scene(report, plan.clone()) else { return };
            for call in 0..DROPPED {
                drop_at(&scene, &numbered(call), await_no).await;
            }
            tokio::time::sleep(RECOVERY).await;
            for call in [0, DROPPED] {
                let Some(first) = first(stage, report, &plan, &numbered(call)).await else { return };
                let came = scene.came(&numbered(call)).await;
                report.must(Check::CancelSafe, came.is_like(&first), || {
                    format!(
                        "after {DROPPED} calls were dropped at their poll {await_no}, a whole call came to {} and not to {}",
                        came.brief(),
                        first.brief()
                    )
                });
            }
        }
    }
}

/// Of several calls of one input at once the first is dropped at each await; the others end as if alone.
pub(crate) async fn leave_others_alone(stage: &Stage, report: &mut Report) {
    let ask = numbered(0);
    let Some(polls) = polls_of(stage, report, &Plan::Smooth).await else { return };
    let Some(first) = first(stage, report, &Plan::Smooth, &ask).await else { return };
    for await_no in 0..=polls {
        let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
        let leader = tokio::spawn(at_most(await_no, scene.start(&ask, None, None)));
        let mut others = JoinSet::new();
        for _ in 1..TOGETHER {
            others.spawn(ends(scene.start(&ask, None, None)));
        }
        let _ = leader.await;
        while let Some(joined) = others.join_next().await {
            let came = joined.map_or(Came::Never, |ended| Came::of(ended.map(|(result, _)| result).as_ref()));
            report.must(Check::CancelSafe, came.is_like(&first), || {
                format!("the first of {TOGETHER} equal calls was dropped at its poll {await_no}, another came to {}", came.brief())
            });
        }
    }
}

fn numbered(call: usize) -> Ask {
    Ask::plain(&format!("call {call}"))
}

/// How often a whole call is polled, within the bound.
pub(crate) async fn polls_of(stage: &Stage, report: &mut Report, plan: &Plan) -> Option<usize> {
    let scene = stage.scene(report, plan.clone())?;
    Some(scene.ask(&numbered(0)).await.polls.min(AWAITS_MAX))
}

/// What the call comes to on a fresh subject.
async fn first(stage: &Stage, report: &mut Report, plan: &Plan, ask: &Ask) -> Option<Came> {
    Some(stage.scene(report, plan.clone())?.came(ask).await)
}

/// Begins a call and drops it after so many polls; one that stands still earlier is dropped where it stands.
pub(crate) async fn drop_at(scene: &Scene, ask: &Ask, polls: usize) {
    let _ = ends(at_most(polls, scene.start(ask, None, None))).await;
}
