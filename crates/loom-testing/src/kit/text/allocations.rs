//! How much a guard allocates for each delta.

use futures::FutureExt;
use serde_json::Value;

use super::super::counted;
use super::super::play::{View, play_into, with_effect};
use super::super::report::{Check, Report};
use super::stage::{Cast, Stage, unstated};
use crate::{Act, Answer};

/// Nobody has a reason to refuse or to change it.
const DELTA: &str = "sixteen letters ";
/// How many deltas are written, once and twice over: what a call costs before its first delta falls out.
const DELTAS: u64 = 512;
/// A buffer that doubles as it grows is not held against a guard that claims none.
const DOUBLINGS: u64 = 4;

/// Counts whole calls with the subject's form and without.
pub(crate) fn per_delta(stage: &Stage, report: &mut Report, allowed: u64) {
    report.checked(Check::Allocations);
    let counts = (grown(stage, Cast::Form), grown(stage, Cast::Nobody));
    let (Some(with), Some(without)) = counts else {
        report.fault(Check::Allocations, "a benign stream did not run to its end");
        return;
    };
    let more = with.saturating_sub(without);
    report.must(Check::Allocations, more <= allowed * DELTAS + DOUBLINGS, || {
        format!("{more} allocations in {DELTAS} deltas, where {allowed} for each are allowed")
    });
}

/// How many allocations the second half of a stream makes.
fn grown(stage: &Stage, cast: Cast) -> Option<u64> {
    count(stage, cast, DELTAS)?;
    Some(count(stage, cast, 2 * DELTAS)?.saturating_sub(count(stage, cast, DELTAS)?))
}

fn count(stage: &Stage, cast: Cast, deltas: u64) -> Option<u64> {
    let script = unstated((0..deltas).map(|_| Act::write(stage.lane, DELTA)));
    let runtime = with_effect(stage.cast(cast), script)?;
    let call = play_into::<Value, Answer>(&runtime, "scripted", Value::Null, Some(View::of_lane(stage.lane)));
    let mut call = Some(Box::pin(call));
    let mut ended = None;
    // Nothing in the call waits, so it is done in one poll.
    let counted = counted::allocations(|| ended = call.take().and_then(FutureExt::now_or_never));
    ended?.output()?;
    Some(counted)
}
