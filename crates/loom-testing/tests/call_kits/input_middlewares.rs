//! Middleware that rewrites input, well-made and careless.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use loom_effect_runtime::{Call, Input, InputMiddleware, Refusal, Step, Waiting, rewrite};
use loom_testing::kit::{self, Check};
use serde_json::Value;

use crate::found_only;

fn trim(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.trim().to_owned(),
        Value::Array(items) => items.iter_mut().for_each(trim),
        Value::Object(fields) => fields.values_mut().for_each(trim),
        _ => {}
    }
}

fn edited(input: &mut Input, change: impl FnOnce(&mut Value)) -> Step {
    match input.edit(change) {
        Ok(()) => Step::Go,
        Err(_) => Step::Deny(Refusal::safety("rewrite")),
    }
}

#[test]
fn a_rewriter_of_either_form_passes_and_every_check_is_made() {
    let report = kit::input_middleware(|| rewrite("trim", |_call, input| edited(input, trim))).report();
    report.assert();
    for check in [
        Check::FormsAgree,
        Check::Repeatable,
        Check::CancelSafe,
        Check::NoPanic,
        Check::NoEcho,
        Check::Ends,
        Check::LiveText,
        Check::NeverBlocks,
        Check::Named,
    ] {
        assert!(report.checks().contains(&check), "{check}: {report}");
    }
}

#[test]
fn a_rewriter_that_refuses_passes() {
    kit::input_middleware(|| rewrite("shut", |_call, _input| Step::Deny(Refusal::quota("shut")))).check();
}

/// Only what came as JSON is trimmed: a typed caller goes round it.
#[test]
fn a_rewriter_of_one_form_alone_is_reported() {
    let report = kit::input_middleware(|| {
        rewrite("careless", |_call, input| {
            if let Some(json) = input.get_mut::<Value>() {
                trim(json);
            }
            Step::Go
        })
    });
    found_only(Check::FormsAgree, &report.report());
}

#[test]
fn a_rewriter_that_numbers_its_calls_is_reported() {
    let report = kit::input_middleware(|| {
        let calls = AtomicUsize::new(0);
        rewrite("careless", move |_call, input| {
            let number = calls.fetch_add(1, Ordering::SeqCst);
            edited(input, |json| {
                if let Some(text) = json.get_mut("text") {
                    *text = Value::String(number.to_string());
                }
            })
        })
    });
    let report = report.report();
    assert!(report.found(Check::Repeatable), "{report}");
}

#[test]
fn a_rewriter_that_panics_on_an_input_is_reported() {
    let report = kit::input_middleware(|| {
        rewrite("careless", |_call, input| {
            edited(input, |json| assert!(json.is_object(), "the input is always an object"))
        })
    });
    found_only(Check::NoPanic, &report.report());
}

#[test]
fn a_rewriter_whose_rule_quotes_the_input_is_reported() {
    let report = kit::input_middleware(|| {
        rewrite("careless", |_call, input| {
            Step::Deny(Refusal::safety(format!("no {}", input.json().unwrap())))
        })
    });
    found_only(Check::NoEcho, &report.report());
}

#[test]
fn a_rewriter_that_keeps_its_thread_is_reported() {
    let report = kit::input_middleware(|| {
        rewrite("careless", |_call, _input| {
            std::thread::sleep(Duration::from_millis(300));
            Step::Go
        })
    });
    found_only(Check::NeverBlocks, &report.report());
}

#[test]
fn a_rewriter_that_waits_without_a_twin_is_reported() {
    found_only(
        Check::Ends,
        &kit::input_middleware(|| rewrite("careless", |_call, _input| Step::Wait)).report(),
    );
}

/// Waits one turn with a place taken, and gives it back where it is not dropped.
struct Leaky(AtomicUsize);

impl InputMiddleware for Leaky {
    fn name(&self) -> &str {
        "leaky"
    }

    fn rewrite(&self, _call: &Call, _input: &mut Input) -> Step {
        Step::Wait
    }

    fn rewrite_wait<'a>(&'a self, _call: &'a Call, _input: &'a mut Input) -> Waiting<'a> {
        Box::pin(async {
            if self.0.fetch_add(1, Ordering::SeqCst) >= 16 {
                self.0.fetch_sub(1, Ordering::SeqCst);
                return Err(Refusal::quota("leaky"));
            }
            tokio::task::yield_now().await;
            self.0.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        })
    }
}

#[test]
fn a_rewriter_that_leaks_a_place_at_a_cancel_is_reported() {
    found_only(Check::CancelSafe, &kit::input_middleware(|| Leaky(AtomicUsize::new(0))).report());
}

#[test]
fn a_rewriter_without_a_name_is_reported() {
    found_only(Check::Named, &kit::input_middleware(|| rewrite("", |_call, _input| Step::Go)).report());
}

#[cfg(feature = "allocations")]
#[test]
fn a_rewriter_that_allocates_more_than_it_claims_is_reported() {
    let trimming = || rewrite("trim", |_call, input| edited(input, trim));
    found_only(Check::Allocations, &kit::input_middleware(trimming).allocations(0).report());
}
