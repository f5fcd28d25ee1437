//! Middleware that keeps to its trait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom_effect_runtime::{
    Call, CallInfo, DeltaKind, Input, Meter, MeterForm, Middleware, Outcome, Refusal, Step, Violation,
    Waiting, after, before,
};
use loom_testing::kit::{self, Check};
use tokio::sync::Semaphore;

/// Admits so many calls at once; the permit is the call's own and goes with it.
pub(crate) struct Pool(pub(crate) Arc<Semaphore>);

impl Middleware for Pool {
    fn name(&self) -> &str {
        "pool"
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        Step::Wait
    }

    fn before_wait<'a>(&'a self, call: &'a Call, _input: &'a Input) -> Waiting<'a> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            match Arc::clone(&self.0).acquire_owned().await {
                Ok(permit) => {
                    call.keep(permit);
                    Ok(())
                }
                Err(_) => Err(Refusal::quota("pool")),
            }
        })
    }
}

/// Severs an attempt that writes more than its budget.
pub(crate) struct Budget(pub(crate) u64);

struct Spent(u64);

impl Middleware for Budget {
    fn name(&self) -> &str {
        "budget"
    }

    fn meter(&self) -> Option<&dyn MeterForm> {
        Some(self)
    }
}

impl MeterForm for Budget {
    fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
        Box::new(Spent(self.0))
    }
}

impl Meter for Spent {
    fn observe(&mut self, _kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
        self.0 = self.0.checked_sub(bytes as u64).ok_or_else(|| Violation::quota("budget"))?;
        Ok(())
    }
}

/// Counts what runs.
struct Running(AtomicU64);

impl Middleware for Running {
    fn name(&self) -> &str {
        "running"
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        self.0.fetch_add(1, Ordering::Relaxed);
        Step::Go
    }

    fn after(&self, _call: &Call, outcome: &Outcome<'_>) {
        let _ = outcome.error.map(ToString::to_string);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn middleware_that_lets_pass_or_refuses_alike_passes() {
    kit::middleware(|| before("open", |_call, _input| Step::Go)).check();
    kit::middleware(|| before("shut", |_call, _input| Step::Deny(Refusal::quota("shut")))).check();
    kit::middleware(|| after("deaf", |_call, _outcome| {})).check();
    kit::middleware(|| Running(AtomicU64::new(0))).check();
}

#[test]
fn a_pool_and_a_budget_pass() {
    kit::middleware(|| Pool(Arc::new(Semaphore::new(4)))).check();
    kit::middleware(|| Budget(5_000)).check();
}

#[test]
fn every_check_of_the_kit_is_made() {
    let report = kit::middleware(|| Budget(5_000)).report();
    for check in [
        Check::Repeatable,
        Check::CancelSafe,
        Check::FreshGuard,
        Check::LiveText,
        Check::NoPanic,
        Check::NoEcho,
        Check::Ends,
        Check::NeverBlocks,
        Check::Named,
    ] {
        assert!(report.checks().contains(&check), "{check}: {report}");
    }
}
