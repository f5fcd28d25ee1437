//! The seam for code that is handed the power to call: one call, whoever starts it, with every option kept.

#![cfg(test)]

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use loom_effect_runtime::{
    AbortError, AbortReason, AnyInvocation, AnyInvoked, CallError, CallRef, Caller, DeltaSink, Effect,
    EffectContext, EffectDelta, EffectRuntime, ErrorName, Identity, Invocation, Invoke, Principal, Refusal,
    Signal, Step, Usage, authorize,
};
use serde_json::{Value, json};

/// Says its input, and reports usage.
struct Says;

impl Effect for Says {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "says"
    }

    async fn execute(&self, text: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        cx.deltas().text(text)?;
        cx.usage(Usage::new(1, 2));
        Ok(text.clone())
    }
}

/// A runtime that lets nobody but `ada` call.
fn runtime() -> EffectRuntime {
    let ada_only = authorize(|call, _| match call.identity().principal().id() {
        "ada" => Step::Go,
        _ => Step::Deny(Refusal::capability_denied("says")),
    });
    EffectRuntime::builder().authorizer(ada_only).effect(Says).build().unwrap()
}

fn as_principal(runtime: &EffectRuntime, name: &str) -> Caller {
    runtime.caller(Identity::new(Principal::new(name)))
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl DeltaSink for Heard {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        self.0.lock().unwrap().push(format!("{} {}", call.step_id(), delta.text().unwrap_tainted()));
    }
}

/// D1, T6: an invocation is the call of whoever starts it: its identity decides, its sink hears, its report is given.
#[tokio::test]
async fn an_invocation_is_the_call_of_who_starts_it() {
    let (runtime, heard) = (runtime(), Heard::default());
    let says = runtime.tool::<String, String>("says").unwrap();
    let hello = || Invocation::new(says, "hello".to_owned()).on_delta_sink(Arc::new(heard.clone()));
    let (result, report) = hello().by(&as_principal(&runtime, "ada")).await;
    assert_eq!(result.unwrap(), "hello");
    assert_eq!((report.attempts, report.streamed, report.usage), (1, true, Some(Usage::new(1, 2))));
    assert_eq!(*heard.0.lock().unwrap(), ["says hello", "says "]);

    let (result, report) = hello().by(&as_principal(&runtime, "eve")).await;
    assert_eq!((result.unwrap_err().name(), report.attempts), (ErrorName::CapabilityDenied, 0));
    let (result, _) = Invocation::new("says", json!("by id")).by(&as_principal(&runtime, "ada")).await;
    assert_eq!(result.unwrap(), json!("by id"));
    assert_eq!(heard.0.lock().unwrap().len(), 2);
}

/// D8: the signal of an invocation cancels it with the aborter's own reason.
#[tokio::test]
async fn an_invocation_keeps_its_signal() {
    let (runtime, signal) = (runtime(), Signal::new());
    let reason: AbortReason = Arc::new(AbortError::new());
    signal.abort(Arc::clone(&reason));
    let says = runtime.tool::<String, String>("says").unwrap();
    let call = Invocation::new(says, "hello".to_owned()).signal(signal);
    let (result, report) = call.by(&as_principal(&runtime, "ada")).await;
    assert!(Arc::ptr_eq(&result.unwrap_err().abort_reason().unwrap(), &reason));
    assert_eq!(report.attempts, 0);
}

/// Starts calls, and gives another output than theirs.
struct Alien(Caller);

impl Invoke for Alien {
    fn start(&self, call: AnyInvocation) -> BoxFuture<'static, AnyInvoked> {
        let started = self.0.start(call);
        Box::pin(async move {
            let (result, report) = started.await;
            (result.map(|_| Box::new(7) as Box<_>), report)
        })
    }
}

#[tokio::test]
async fn a_starter_that_gives_another_output_fails_the_call() {
    let runtime = runtime();
    let alien = Alien(as_principal(&runtime, "ada"));
    let (result, report) = Invocation::<Value>::new("says", json!("x")).by(&alien).await;
    assert_eq!((result.unwrap_err().name(), report.attempts), (ErrorName::OutputInvalid, 1));
}
