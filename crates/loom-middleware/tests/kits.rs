//! The conformance kits on what this crate registers with a runtime. A fallback is no part of one: it stands outside and
//! calls it.

use std::time::Duration;

use loom_effect_runtime::ErrorName;
use loom_middleware::{Admission, Deadline, ErrorPolicy, KillSwitch, Memo, Retry, Timeout, Ttl};
use loom_testing::kit::{self, TOOLS};

const MINUTE: Duration = Duration::from_secs(60);
/// Longer than a kit lasts in virtual time.
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// T14: a memo of every tool that the kits call.
fn memo(ttl: Ttl) -> Memo {
    TOOLS.iter().fold(Memo::new(100), |memo, tool| memo.tool(*tool, ttl))
}

/// T11, D11, D8: refusals are final, each attempt begins with a reset, an abort ends the pauses.
#[test]
fn a_retry_passes_however_eager_it_is() {
    kit::around(Retry::new).allocations(1).check();
    kit::around(|| Retry::new().seed(7).attempts(5).when(|_| true)).allocations(1).check();
    kit::around(|| Retry::new().on(ErrorName::EffectPanicked, ErrorPolicy::attempts(2))).check();
}

/// D8: a timeout ends what waits, and a call beside it goes on.
#[test]
fn a_timeout_passes() {
    kit::around(|| Timeout::after(MINUTE)).allocations(1).check();
    kit::around(|| Timeout::after(MINUTE).tool(TOOLS[0], 2 * MINUTE)).check();
}

/// T14: two identities share nothing, refusals and failures are not kept, whoever is dropped leaves nothing behind.
#[test]
fn a_memo_passes() {
    for fresh in [Duration::ZERO, MINUTE, YEAR] {
        kit::around(move || memo(Ttl::new(fresh))).check();
    }
    kit::around(|| memo(Ttl::new(YEAR)).followers_max(0)).check();
    kit::around(|| memo(Ttl::new(YEAR)).followers_max(1).flights_max(1)).check();
    kit::around(|| memo(Ttl::new(YEAR)).flights_max(0)).check();
    kit::around(|| Memo::new(1)).check();
}

/// T14: a hit is two allocations.
#[test]
fn a_memo_that_keeps_what_it_serves_allocates_twice() {
    kit::around(|| memo(Ttl::new(YEAR))).allocations(2).check();
}

/// T14: what stands in for a failure is an output of an equal call.
#[test]
fn a_memo_that_serves_stale_outputs_passes() {
    for fresh in [Duration::ZERO, MINUTE] {
        kit::around(move || memo(Ttl::new(fresh).stale(YEAR))).serves_stale().check();
    }
}

/// T11: a deadline and a kill switch in front of what runs let it through until they end it.
#[test]
fn the_running_forms_of_deadline_and_kill_switch_pass() {
    kit::around(|| Deadline::within(YEAR).running()).allocations(1).check();
    kit::around(|| KillSwitch::new().running()).check();
}

/// T11: a deadline lets every call pass or refuses every one.
#[test]
fn a_deadline_passes_and_so_does_one_that_is_over() {
    kit::middleware(|| Deadline::within(YEAR)).allocations(0).check();
    kit::middleware(|| Deadline::within(Duration::ZERO)).check();
}

/// T11: a kill switch that is engaged refuses all calls, or those of one tool, and its reason quotes none.
#[test]
fn a_kill_switch_passes_engaged_or_not() {
    kit::middleware(KillSwitch::new).check();
    kit::middleware(|| {
        let switch = KillSwitch::new();
        switch.engage("incident");
        switch
    })
    .check();
    kit::middleware(|| {
        let switch = KillSwitch::new();
        switch.engage_tool(TOOLS[1], "incident");
        switch
    })
    .check();
}

/// T12: a ceiling judges the totals of an execution and nothing else.
#[test]
fn an_admission_passes_with_any_ceiling() {
    kit::middleware(Admission::new).allocations(0).check();
    kit::middleware(|| Admission::new().calls_max(0).tokens_max(0)).check();
    kit::middleware(|| Admission::new().calls_max(1000).tokens_max(1_000_000)).check();
}
