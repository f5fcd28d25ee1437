//! Whole calls, with a sink and without.

use std::time::Duration;

use loom_effect_runtime::{Effect, ErrorName};

use super::data::comes_back;
use super::lab::{Lab, brief, judge};
use crate::kit::play::Played;
use crate::kit::polls::{POLL_MAX, RUNS};
use crate::kit::report::{Check, Report};

/// Whether it gives its thread back. Where it does not, nothing else of it can be checked in time.
pub(super) async fn yields<E: Effect>(lab: &Lab<E>, report: &mut Report, input: &E::Input) -> bool {
    report.checked(Check::NeverBlocks);
    let mut quickest = Duration::MAX;
    for _ in 0..RUNS {
        let Some(bench) = lab.bench(report) else { return false };
        quickest = quickest.min(bench.play(input, true).await.longest_poll);
        if quickest <= POLL_MAX {
            return true;
        }
    }
    report.fault(Check::NeverBlocks, format!("one poll of a call took {} ms", quickest.as_millis()));
    false
}

/// A call comes to its end with a sink and without; the view folds to what the output states.
pub(super) async fn fold<E: Effect>(lab: &Lab<E>, report: &mut Report, input: &E::Input, repeatable: bool) {
    let Some(bench) = lab.bench(report) else { return };
    let plain = bench.play(input, false).await;
    judge::<E>(report, input, plain.result.as_ref());
    let Some(bench) = lab.bench(report) else { return };
    let streamed = bench.play(input, true).await;
    judge::<E>(report, input, streamed.result.as_ref());
    if let Some(output) = plain.output() {
        comes_back(report, output, "output");
    }
    judge_view::<E>(report, &plain, &streamed);
    if repeatable {
        let again = bench.play(input, true).await;
        for other in [&streamed, &again] {
            report.must(Check::Repeatable, alike::<E>(&plain, other), || {
                let (plain, other) = (brief(plain.result.as_ref()), brief(other.result.as_ref()));
                format!("without a sink it came to {plain}, with one to {other}, and not to the same")
            });
        }
    }
}

fn judge_view<E: Effect>(report: &mut Report, plain: &Played<E::Output>, streamed: &Played<E::Output>) {
    report.checked(Check::LiveText);
    let differs = streamed.error().is_some_and(|error| error.name() == ErrorName::OutputInvalid);
    report.must(Check::LiveText, !differs || plain.output().is_none(), || {
        "it succeeds without a sink, and with one its live text is not its output's".to_owned()
    });
    let (Some(output), true) = (streamed.output(), streamed.report.streamed) else { return };
    report.must(Check::LiveText, streamed.seen.done == 1, || {
        format!("`done` came {} times", streamed.seen.done)
    });
    let mut stated = String::new();
    if E::live_text(output, &mut |piece| stated.push_str(piece)) {
        let fits = streamed.report.checked && streamed.seen.text == stated;
        report.must(Check::LiveText, fits, || "the live view is not what the output states".to_owned());
    }
}

/// The same output, or the same failure.
pub(super) fn alike<E: Effect>(one: &Played<E::Output>, other: &Played<E::Output>) -> bool {
    match (one.output(), other.output()) {
        (Some(one), Some(other)) => serde_json::to_value(one).ok() == serde_json::to_value(other).ok(),
        (None, None) => same_end::<E>(one, other),
        _ => false,
    }
}

/// Both gave an output, whichever, or failed alike.
pub(super) fn same_end<E: Effect>(one: &Played<E::Output>, other: &Played<E::Output>) -> bool {
    one.output().is_some() == other.output().is_some()
        && one.error().map(|error| (error.name(), error.rule()))
            == other.error().map(|error| (error.name(), error.rule()))
}
