//! Many calls that end badly, and one after them.

use super::came::Came;
use super::cancels::RECOVERY;
use super::probe::{Plan, passing};
use super::stage::{Ask, Stage};
use crate::kit::report::{Check, Report};

/// How many calls end badly before one is asked to end well.
const CALLS: usize = 64;

/// After many failed or panicked calls and an hour, a call is answered as a first one: what `before` took, `after` gave
/// back.
pub(crate) async fn is_none(stage: &Stage, report: &mut Report) {
    report.checked(Check::Repeatable);
    let Some(fresh) = stage.scene(report, Plan::Smooth) else { return };
    let ask = Ask::plain("worn");
    let first = fresh.came(&ask).await;
    for plan in [Plan::Smooth, Plan::Fails(passing()), Plan::Panics] {
        let Some(scene) = stage.scene(report, plan.clone()) else { return };
        for call in 0..CALLS {
            let _ = scene.ask(&Ask::plain(&format!("call {call}"))).await;
        }
        tokio::time::sleep(RECOVERY).await;
        scene.shared.plan(Plan::Smooth);
        let came = scene.came(&ask).await;
        report.must(Check::Repeatable, came.is_like(&first), || told(&plan, &came, &first));
    }
}

fn told(plan: &Plan, came: &Came, first: &Came) -> String {
    let (came, first) = (came.brief(), first.brief());
    format!(
        "after {CALLS} calls of an effect that {plan:?} and an hour, a call came to {came} and not to {first}"
    )
}
