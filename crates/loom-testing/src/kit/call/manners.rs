//! What is asked of every hook: a name, and its thread back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::probe::{Plan, passing};
use super::stage::{Ask, Stage};
use crate::kit::polls::{POLL_MAX, RUNS};
use crate::kit::report::{Check, Report};

const NAME_BYTES_MAX: usize = 128;

/// Asks a fresh subject for its name, twice.
pub(crate) type Name = dyn Fn() -> [String; 2] + Send + Sync;

/// Asks several fresh subjects for their name, more than once each.
pub(crate) fn named(report: &mut Report, ask: &Name) {
    let asked = catch_unwind(AssertUnwindSafe(|| [ask(), ask()].concat()));
    let Ok(names) = asked else {
        report.fault(Check::NoPanic, "it panicked when it was asked for its name");
        return;
    };
    let first = names.first().map(String::as_str).unwrap_or_default();
    report.must(Check::Named, names.iter().all(|name| name == first), || {
        "its name differs from one asking to the next".to_owned()
    });
    let fit = (1..=NAME_BYTES_MAX).contains(&first.len()) && !first.contains(char::is_control);
    report.must(Check::Named, fit, || {
        format!(
            "its name has {} bytes: 1 to {NAME_BYTES_MAX} without control characters expected",
            first.len()
        )
    });
}

/// Whether it gives its thread back. Where it does not, nothing else of it can be checked in time.
pub(crate) async fn yields(stage: &Stage, report: &mut Report) -> bool {
    report.checked(Check::NeverBlocks);
    for plan in [Plan::Smooth, Plan::Flaky, Plan::Fails(passing())] {
        let mut quickest = Duration::MAX;
        for _ in 0..RUNS {
            let Some(scene) = stage.scene(report, plan.clone()) else { return false };
            quickest = quickest.min(scene.ask(&Ask::plain("manners").streamed()).await.longest_poll);
            if quickest <= POLL_MAX {
                break;
            }
        }
        if quickest > POLL_MAX {
            report.fault(Check::NeverBlocks, format!("one poll of a call took {} ms", quickest.as_millis()));
            return false;
        }
    }
    true
}
