//! Calls that one sink follows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use std::future::IntoFuture;

use futures::future::join_all;
use loom_effect_runtime::{DeltaSink, EffectRuntime};

use super::Shows;
use super::tee::Tee;
use super::writer::{TOOL, Writer, Writes, tried_twice};
use crate::kit::bounded::ends;
use crate::kit::call::stage::Warned;
use crate::kit::play::builder;
use crate::kit::polls::RUNS;
use crate::kit::report::{Check, Report};

/// How many calls one sink serves at once (spec row D12).
const CALLS: usize = 64;
/// Deltas before allocations are counted, and deltas over which they are.
#[cfg(feature = "allocations")]
const DELTAS: usize = 256;

/// Whether it answers what it wants, and always the same.
pub(super) fn asks_alike<S: DeltaSink>(report: &mut Report, make: &dyn Fn() -> S) -> bool {
    report.checked(Check::NoPanic);
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let (one, other) = (make(), make());
        [one.wants(), one.wants(), other.wants()]
    }));
    let Ok([first, again, other]) = asked else {
        report.fault(Check::NoPanic, "it panicked when it was asked what it wants");
        return false;
    };
    report.must(Check::Repeatable, first == again && first == other, || {
        "it asks for other kinds from one asking to the next".to_owned()
    });
    true
}

/// Whether deliveries give the thread back: a few of them, a few times.
pub(super) async fn yields<S: DeltaSink>(report: &mut Report, make: &dyn Fn() -> S) -> bool {
    report.checked(Check::NeverBlocks);
    for _ in 0..RUNS {
        let (tee, _) = run(report, make, false, [Writes::Pieces { count: 2 }]).await;
        if tee.notes().slow == 0 {
            return true;
        }
    }
    report.fault(Check::NeverBlocks, "a delivery kept its thread");
    false
}

/// It serves many calls at once, as the sink of each and as the configured one.
pub(super) async fn serves_many<S: DeltaSink>(
    report: &mut Report,
    make: &dyn Fn() -> S,
    shows: Option<&Shows<S>>,
) {
    for configured in [false, true] {
        let calls = (0..CALLS).map(|number| Writes::Turns { number });
        let (tee, warned) = run(report, make, configured, calls).await;
        report.must(Check::NoPanic, !warned.panicked(), || "it panicked at a delivery".to_owned());
        if let (Some(shows), false) = (shows, warned.panicked()) {
            judge_shown(report, &tee, shows, configured);
        }
    }
}

fn judge_shown<S>(report: &mut Report, tee: &Tee<S>, shows: &Shows<S>, configured: bool) {
    report.checked(Check::LiveText);
    let how = if configured { "configured with the effect" } else { "given to each call" };
    let notes = tee.notes();
    let mut shown = 0;
    for (number, seen) in &notes.seen {
        let Some(text) = shows(&tee.subject, *number) else { continue };
        shown += 1;
        report.must(Check::LiveText, text == seen.text, || {
            format!("{how}, after {} resets it shows another text than the call's", seen.resets)
        });
    }
    report.must(Check::LiveText, shown > 0 || configured, || format!("{how}, it shows no call"));
}

/// What a delta of text allocates.
#[cfg(feature = "allocations")]
pub(super) async fn costs<S: DeltaSink>(report: &mut Report, make: &dyn Fn() -> S, most: u64) {
    report.checked(Check::Allocations);
    let tee = Tee::new(make());
    let Some(runtime) = tried_twice(builder(), Writer { configured: None }) else { return };
    let Ok(tool) = runtime.tool::<Writes, String>(TOOL) else { return };
    let call = runtime.invoke_transient(tool, Writes::Pieces { count: 2 * DELTAS });
    let _ = call.on_delta_sink(tee.counting_after(DELTAS)).await;
    let (total, deltas) = tee.notes().counted;
    let mean = total / deltas.max(1);
    report.must(Check::Allocations, mean <= most, || {
        format!("a delta of text makes {mean} allocations, at most {most} expected")
    });
}

async fn run<S: DeltaSink>(
    report: &mut Report,
    make: &dyn Fn() -> S,
    configured: bool,
    calls: impl IntoIterator<Item = Writes>,
) -> (Tee<S>, Warned) {
    let (tee, warned) = (Tee::new(make()), Warned::default());
    let note = warned.clone();
    let sink: Option<Arc<dyn DeltaSink>> = configured.then(|| Arc::new(tee.clone()) as Arc<dyn DeltaSink>);
    let builder = builder().on_warn(move |warning| note.note(warning));
    if let Some(runtime) = tried_twice(builder, Writer { configured: sink }) {
        follow(report, &runtime, (!configured).then_some(&tee), calls).await;
    }
    (tee, warned)
}

async fn follow<S: DeltaSink>(
    report: &mut Report,
    runtime: &EffectRuntime,
    tee: Option<&Tee<S>>,
    calls: impl IntoIterator<Item = Writes>,
) {
    let Ok(tool) = runtime.tool::<Writes, String>(TOOL) else { return };
    let running = calls.into_iter().map(|writes| {
        let call = runtime.invoke_transient(tool, writes);
        let call = if let Some(tee) = tee { call.on_delta_sink(tee.clone()) } else { call };
        call.into_future()
    });
    let ended = ends(join_all(running)).await;
    report.must(Check::Ends, ended.is_some(), || "a call that it follows never ended".to_owned());
}
