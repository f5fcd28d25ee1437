//! Streams that a guard severs at each of their deltas.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom_effect_runtime::{
    CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Effect, Lane, Outlet, Step, Verdict, Violation, inspect,
};

use super::lab::{Lab, brief, judge};
use crate::kit::call::aborts::settled_tasks;
use crate::kit::report::{Check, Report};

const RULE: &str = "kit.severed";
/// At how many deltas a stream is severed at most.
const DELTAS_MAX: usize = 24;

/// Severed at whichever delta, the call fails with the guard's rule and ends, and nothing is left behind.
pub(super) async fn stand<E: Effect>(lab: &Lab<E>, report: &mut Report, input: &E::Input) {
    report.checked(Check::NothingSwallowed);
    for at in 1..=DELTAS_MAX {
        let pushed = Arc::new(AtomicUsize::new(0));
        let form: Arc<dyn DeltaForm> = Arc::new(SeverAt { at, pushed: Arc::clone(&pushed) });
        let guard = inspect("kit.guard", Some(form), |_call, _output| Step::Go);
        let Some(bench) = lab.bench_with(report, |builder| builder.output_middleware(guard)) else { return };
        let tasks = settled_tasks().await;
        let played = bench.play(input, true).await;
        if pushed.load(Ordering::SeqCst) < at {
            return;
        }
        judge::<E>(report, input, played.result.as_ref());
        let severed = played.error().is_some_and(|error| error.rule() == Some(RULE));
        report.must(Check::NothingSwallowed, severed, || {
            format!("severed at delta {at} the call came to {}", brief(played.result.as_ref()))
        });
        report.must(Check::AbortObeyed, settled_tasks().await <= tasks, || {
            format!("a task is left behind by a call that was severed at delta {at}")
        });
    }
}

/// Severs at the `at`th piece of any lane.
#[derive(Clone)]
struct SeverAt {
    at: usize,
    pushed: Arc<AtomicUsize>,
}

impl DeltaForm for SeverAt {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(self.clone())
    }
}

impl DeltaGuard for SeverAt {
    fn push(&mut self, _text: &str, _out: &mut Outlet<'_>) -> Verdict {
        if self.pushed.fetch_add(1, Ordering::SeqCst) + 1 < self.at {
            return Verdict::Pass;
        }
        Verdict::Sever(Violation::safety(RULE))
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
