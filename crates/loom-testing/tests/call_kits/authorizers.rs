//! Authorizers, well-made and careless.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use loom_effect_runtime::{
    Authorizer, Call, ErrorName, Identity, Input, Principal, Refusal, Step, Waiting, authorize,
};
use loom_testing::kit::{self, AuthorizerKit, Check};
use serde_json::json;

use crate::found_only;

fn ada() -> Identity {
    Identity::new(Principal::new("ada"))
}

fn bob() -> Identity {
    Identity::new(Principal::new("bob"))
}

fn only_ada(call: &Call) -> Step {
    match call.identity().principal().id() {
        "ada" => Step::Go,
        _ => Step::Deny(Refusal::capability_denied(call.tool())),
    }
}

fn with_grants(kit: AuthorizerKit) -> AuthorizerKit {
    kit.caller(ada()).tool("refund").denies(bob(), "refund", json!({ "amount": 100 }))
}

#[test]
fn an_authorizer_by_grants_passes_and_every_check_is_made() {
    let report = with_grants(kit::authorizer(|| authorize(|call, _input| only_ada(call)))).report();
    report.assert();
    for check in [
        Check::RefusalFinal,
        Check::FailClosed,
        Check::Repeatable,
        Check::CancelSafe,
        Check::NoPanic,
        Check::NoEcho,
        Check::Ends,
        Check::LiveText,
        Check::NeverBlocks,
    ] {
        assert!(report.checks().contains(&check), "{check}: {report}");
    }
}

#[test]
fn an_authorizer_of_everybody_passes() {
    kit::authorizer(|| authorize(|_call, _input| Step::Go)).check();
}

/// Lets whom it is told to act as another, and asks the rest as it asks anybody.
struct ActsFor(fn(&Call) -> Step);

impl Authorizer for ActsFor {
    fn authorize(&self, call: &Call, _input: &Input) -> Step {
        (self.0)(call)
    }

    fn may_act_as(&self, _call: &Call, _caller: &Identity) -> Result<(), Refusal> {
        Ok(())
    }
}

#[test]
fn an_authorizer_that_lets_act_passes_where_it_says_so() {
    kit::authorizer(|| ActsFor(only_ada)).lets_act().check();
}

/// T6: nobody said that anybody may act as another.
#[test]
fn an_authorizer_that_lets_act_without_saying_so_is_reported() {
    found_only(Check::FailClosed, &kit::authorizer(|| ActsFor(only_ada)).report());
}

/// T6: who acts as another is let through where that other is not.
#[test]
fn an_authorizer_that_answers_a_stand_in_milder_is_reported() {
    let careless = |call: &Call| if call.acts_as_another() { Step::Go } else { only_ada(call) };
    found_only(Check::FailClosed, &kit::authorizer(move || ActsFor(careless)).lets_act().report());
}

/// What it cannot read it lets through.
#[test]
fn an_authorizer_that_answers_an_unfit_input_milder_is_reported() {
    let report = kit::authorizer(|| {
        authorize(|call, input| match input.json().ok().and_then(|json| json.get("count")?.as_u64()) {
            Some(_) => only_ada(call),
            None => Step::Go,
        })
    });
    found_only(Check::FailClosed, &report.report());
}

/// The amount is over the limit, unless it is no number.
#[test]
fn an_authorizer_that_judges_numbers_alone_is_reported() {
    let report = kit::authorizer(|| {
        authorize(|_call, input| match input.json().ok().and_then(|json| json.get("amount")?.as_u64()) {
            Some(amount) if amount > 50 => Step::Deny(Refusal::quota("limit")),
            _ => Step::Go,
        })
    });
    found_only(Check::FailClosed, &with_grants(report).report());
}

#[test]
fn a_denial_under_a_name_that_is_no_refusals_is_reported() {
    let report = kit::authorizer(|| {
        authorize(|_call, _input| Step::Deny(Refusal::new(ErrorName::ToolNotFound, "hidden")))
    });
    let report = report.report();
    assert!(report.found(Check::RefusalFinal), "{report}");
}

#[test]
fn a_denial_without_a_rule_is_reported() {
    let report = kit::authorizer(|| {
        authorize(|_call, _input| Step::Deny(Refusal::new(ErrorName::CapabilityDenied, "")))
    });
    found_only(Check::RefusalFinal, &report.report());
}

#[test]
fn an_authorizer_that_answers_now_so_and_now_so_is_reported() {
    let report = kit::authorizer(|| {
        let asked = AtomicUsize::new(0);
        authorize(move |call, _input| match call.tool() {
            "kit.other" if asked.fetch_add(1, Ordering::SeqCst) > 0 => Step::Deny(Refusal::quota("tired")),
            _ => Step::Go,
        })
    });
    found_only(Check::Repeatable, &report.report());
}

#[test]
fn a_denial_that_quotes_the_input_is_reported() {
    let report = kit::authorizer(|| {
        authorize(|_call, input| Step::Deny(Refusal::capability_denied(input.json().unwrap().to_string())))
    });
    found_only(Check::NoEcho, &report.report());
}

#[test]
fn an_authorizer_that_panics_on_an_input_is_reported() {
    let report = kit::authorizer(|| {
        authorize(|_call, input| {
            assert!(input.json().unwrap().is_object(), "the input is always an object");
            Step::Go
        })
    });
    found_only(Check::NoPanic, &report.report());
}

#[test]
fn an_authorizer_that_keeps_its_thread_is_reported() {
    let report = kit::authorizer(|| {
        authorize(|_call, _input| {
            std::thread::sleep(Duration::from_millis(300));
            Step::Go
        })
    });
    found_only(Check::NeverBlocks, &report.report());
}

#[test]
fn an_authorizer_that_waits_without_a_twin_is_reported() {
    found_only(Check::Ends, &kit::authorizer(|| authorize(|_call, _input| Step::Wait)).report());
}

/// Asks a directory through a pool of connections, and leaks one where it is dropped.
struct Directory(Arc<tokio::sync::Semaphore>);

impl Authorizer for Directory {
    fn authorize(&self, _call: &Call, _input: &Input) -> Step {
        Step::Wait
    }

    fn authorize_wait<'a>(&'a self, _call: &'a Call, _input: &'a Input) -> Waiting<'a> {
        Box::pin(async {
            self.0.acquire().await.map_err(|_| Refusal::quota("directory"))?.forget();
            tokio::task::yield_now().await;
            self.0.add_permits(1);
            Ok(())
        })
    }
}

#[test]
fn an_authorizer_that_leaks_a_connection_at_a_cancel_is_reported() {
    let report = kit::authorizer(|| Directory(Arc::new(tokio::sync::Semaphore::new(8))));
    found_only(Check::CancelSafe, &report.report());
}

#[cfg(feature = "allocations")]
#[test]
fn an_authorizer_that_allocates_more_than_it_claims_is_reported() {
    let careless = || {
        authorize(|call, _input| {
            std::hint::black_box(call.tool().to_owned());
            Step::Go
        })
    };
    found_only(Check::Allocations, &kit::authorizer(careless).allocations(0).report());
    kit::authorizer(|| authorize(|_call, _input| Step::Go)).allocations(0).check();
}
