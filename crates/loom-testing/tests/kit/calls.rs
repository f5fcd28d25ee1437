//! Those who take part in a call: hooks, arounds, authorizers, effects.

use std::sync::atomic::{AtomicUsize, Ordering};

use loom_effect_runtime::{
    Authorizer, Call, Identity, Input, Middleware, Principal, Refusal, Step, around, authorize, rewrite,
};
use loom_testing::{Act, Scripted, kit};
use serde_json::{Value, json};

use crate::planted;

/// So many calls at once; a leaked place is not given back by a call that is dropped.
struct Places {
    taken: std::sync::Arc<AtomicUsize>,
    leaks: bool,
}

struct Place(std::sync::Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Middleware for Places {
    fn name(&self) -> &str {
        "places"
    }

    fn before(&self, call: &Call, _input: &Input) -> Step {
        if self.taken.fetch_add(1, Ordering::SeqCst) >= 8 {
            self.taken.fetch_sub(1, Ordering::SeqCst);
            return Step::Deny(Refusal::quota("places"));
        }
        if !self.leaks {
            call.keep(Place(self.taken.clone()));
        }
        Step::Go
    }

    fn after(&self, _call: &Call, _outcome: &loom_effect_runtime::Outcome<'_>) {
        if self.leaks {
            self.taken.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn middleware() {
    let leaks = planted("leaked-permit");
    kit::middleware(move || Places { taken: Default::default(), leaks }).check();
}

#[test]
fn input_middleware() {
    let panics = planted("panics-on-json");
    kit::input_middleware(move || {
        rewrite("looks", move |_call, input| match input.json() {
            Ok(json) => {
                assert!(!panics || json.is_string(), "every input is a text");
                Step::Go
            }
            Err(_) => Step::Deny(Refusal::safety("unreadable")),
        })
    })
    .check();
}

#[test]
fn around_calls() {
    let retries = planted("retries-refusal");
    kit::around(move || {
        around("again", move |_call, mut next| {
            Box::pin(async move {
                match next.run().await {
                    Err(error) if retries || !error.is_refusal() => next.run().await,
                    ended => ended,
                }
            })
        })
    })
    .check();
}

fn grants() -> impl Authorizer {
    let fails_open = planted("fails-open");
    authorize(move |call, input| match call.identity().principal().id() {
        "ada" => Step::Go,
        _ if fails_open && input.json().is_ok_and(|json| json.get("amount").is_none()) => Step::Go,
        _ => Step::Deny(Refusal::capability_denied(call.tool())),
    })
}

#[test]
fn authorizer() {
    let [ada, bob] = ["ada", "bob"].map(|name| Identity::new(Principal::new(name)));
    kit::authorizer(grants)
        .caller(ada)
        .tool("refund")
        .denies(bob, "refund", json!({ "amount": 100 }))
        .check();
}

#[test]
fn effect() {
    let acts = if planted("text-twice") { vec!["hello", "hello"] } else { vec!["hel", "lo"] };
    kit::effect(
        move || {
            Scripted::<String>::new(acts.iter().map(|text| Act::text(text)).chain([Act::answer("hello")]))
        },
        [Value::Null],
    )
    .repeatable_answers()
    .check();
}
