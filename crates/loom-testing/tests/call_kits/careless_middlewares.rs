//! Middleware that breaks one check each.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use loom_effect_runtime::{
    Call, CallInfo, DeltaKind, Input, Meter, MeterForm, Middleware, Outcome, Refusal, Step, Violation,
    Waiting, after, before, before_wait,
};
use loom_testing::kit::{self, Check};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::found_only;

/// Takes a permit in `before` and gives it back in `after`, which a dropped call never reaches.
struct Leaky {
    free: AtomicI64,
    failures_too: bool,
}

impl Leaky {
    fn new(failures_too: bool) -> Self {
        Self { free: AtomicI64::new(16), failures_too }
    }
}

impl Middleware for Leaky {
    fn name(&self) -> &str {
        "leaky"
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        if self.free.fetch_sub(1, Ordering::SeqCst) <= 0 {
            self.free.fetch_add(1, Ordering::SeqCst);
            return Step::Deny(Refusal::quota("leaky"));
        }
        Step::Go
    }

    fn after(&self, _call: &Call, outcome: &Outcome<'_>) {
        if outcome.is_ok() || self.failures_too {
            self.free.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn a_middleware_that_leaks_a_permit_at_a_cancel_is_reported() {
    found_only(Check::CancelSafe, &kit::middleware(|| Leaky::new(true)).report());
}

#[test]
fn a_middleware_that_leaks_a_permit_in_its_wait_is_reported() {
    let report = kit::middleware(|| {
        let permits = Arc::new(Semaphore::new(8));
        before_wait("leaky", move |_call, _input| {
            let permits = Arc::clone(&permits);
            Box::pin(async move {
                permits.acquire().await.map_err(|_| Refusal::quota("leaky"))?.forget();
                tokio::task::yield_now().await;
                permits.add_permits(1);
                Ok(())
            })
        })
    });
    found_only(Check::CancelSafe, &report.report());
}

/// Gives nothing back of a call that fails: a cancelled call is the least of it.
#[test]
fn a_middleware_that_leaks_a_permit_at_a_failure_is_reported() {
    let report = kit::middleware(|| Leaky::new(false)).report();
    assert!(report.found(Check::Repeatable), "{report}");
}

#[test]
fn a_middleware_that_answers_now_so_and_now_so_is_reported() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let report = kit::middleware(|| {
        before("careless", |_call, input| {
            let odd = input.json().is_ok_and(Value::is_null)
                && ASKED.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
            if odd { Step::Deny(Refusal::quota("careless")) } else { Step::Go }
        })
    });
    found_only(Check::Repeatable, &report.report());
}

/// One meter for all attempts of a call and all calls.
struct Shared(Arc<AtomicI64>);

impl Middleware for Shared {
    fn name(&self) -> &str {
        "shared"
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        self.0.store(1_000, Ordering::SeqCst);
        Step::Go
    }

    fn meter(&self) -> Option<&dyn MeterForm> {
        Some(self)
    }
}

impl MeterForm for Shared {
    fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}

impl Meter for Shared {
    fn observe(&mut self, _kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
        let left = self.0.fetch_sub(bytes as i64, Ordering::SeqCst) - bytes as i64;
        if left < 0 { Err(Violation::quota("shared")) } else { Ok(()) }
    }
}

/// D10: the second attempt is counted by the meter of the first.
#[test]
fn a_meter_that_counts_two_attempts_as_one_is_reported() {
    found_only(Check::FreshGuard, &kit::middleware(|| Shared(Arc::default())).report());
}

#[test]
fn a_middleware_that_panics_on_an_input_is_reported() {
    let report = kit::middleware(|| {
        before("careless", |_call, input| {
            let words =
                input.json().is_ok_and(|json| json.get("value").is_none() || json["value"][0].is_null());
            assert!(words || input.json().unwrap()["value"].as_array().unwrap().len() < 100);
            Step::Go
        })
    });
    found_only(Check::NoPanic, &report.report());
}

#[test]
fn a_middleware_that_panics_over_an_outcome_is_reported() {
    let report = kit::middleware(|| {
        after("careless", |_call, outcome| assert!(outcome.is_ok(), "nothing but success was thought of"))
    });
    found_only(Check::NoPanic, &report.report());
}

#[test]
fn a_middleware_whose_rule_quotes_the_input_is_reported() {
    let report = kit::middleware(|| {
        before("careless", |_call, input| {
            Step::Deny(Refusal::safety(format!("no {}", input.json().unwrap())))
        })
    });
    found_only(Check::NoEcho, &report.report());
}

#[test]
fn a_middleware_that_keeps_its_thread_is_reported() {
    let report = kit::middleware(|| {
        before("careless", |_call, _input| {
            std::thread::sleep(Duration::from_millis(300));
            Step::Go
        })
    });
    found_only(Check::NeverBlocks, &report.report());
}

#[test]
fn a_middleware_that_waits_without_a_twin_is_reported() {
    found_only(Check::Ends, &kit::middleware(|| before("careless", |_call, _input| Step::Wait)).report());
}

#[test]
fn a_middleware_that_waits_past_its_deadline_is_reported() {
    let report = kit::middleware(|| {
        before_wait("careless", |_call, _input| -> Waiting<'_> { Box::pin(std::future::pending()) })
    });
    found_only(Check::Ends, &report.report());
}

#[test]
fn a_middleware_whose_name_differs_is_reported() {
    struct Numbered(String);
    impl Middleware for Numbered {
        fn name(&self) -> &str {
            &self.0
        }
    }
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let report = kit::middleware(|| Numbered(format!("n{}", MADE.fetch_add(1, Ordering::SeqCst))));
    found_only(Check::Named, &report.report());
}

#[cfg(feature = "allocations")]
#[test]
fn a_middleware_that_allocates_more_than_it_claims_is_reported() {
    let careless = || {
        before("careless", |call, _input| {
            std::hint::black_box(call.tool().to_owned());
            Step::Go
        })
    };
    found_only(Check::Allocations, &kit::middleware(careless).allocations(0).report());
    kit::middleware(|| before("open", |_call, _input| Step::Go)).allocations(0).check();
}
