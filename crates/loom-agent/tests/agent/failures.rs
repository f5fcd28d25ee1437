//! Failed tool calls: which end the run, which the model hears of, and how little it hears.

use std::io;
use std::sync::Arc;

use loom_agent::{AgentFault, AgentLimits, AgentRunner, RESULT_BYTES_MAX};
use loom_effect_runtime::{
    AbortError, CallError, ErrorName, FailureChannel, Refusal, Step, TypedFailure, Violation, authorize,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::stage::*;

/// A run of a model that asks for `fails` beside an echo, and what the model was asked afterwards.
async fn failing(error: CallError) -> (Script, Result<loom_agent::AgentOutcome, loom_agent::AgentError>) {
    let script = Script::of([asks([("fails", r#"{"n":1}"#)])]);
    let fails = act("fails", move |_: Value, _| {
        let error = error.clone();
        async move { Err::<String, _>(error) }
    });
    let runtime = runtime(&script, |builder| builder.effect(fails));
    let runner =
        AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "fails")).build().unwrap();
    let outcome = runner.run(&caller(&runtime), "hi").await;
    (script, outcome)
}

/// T11: every refusal of a tool call ends the run with that very error; the model is neither told nor asked again.
#[tokio::test]
async fn a_refusal_ends_the_run_and_is_never_told() {
    let refusals = ErrorName::ALL.iter().filter(|name| name.is_refusal());
    let refused = refusals.map(|name| CallError::from(Refusal::new(*name, "rule")));
    let named = [CallError::named(ErrorName::EgressDenied, "by name alone")];
    let severed = [CallError::from(Violation::safety("pii.card"))];
    let aborted = [CallError::aborted(Arc::new(AbortError::new()))];
    for error in refused.chain(named).chain(severed).chain(aborted) {
        let (script, outcome) = failing(error.clone()).await;
        let ended = outcome.unwrap_err();
        let AgentFault::ToolRefused { tool, error: cause } = ended.fault() else { panic!("{ended:?}") };
        assert_eq!((tool.as_str(), cause.name(), cause.rule()), ("fails", error.name(), error.rule()));
        assert_eq!(lines(&ended.report().transcript), ["user: hi", r#"assistant:  [fails({"n":1})#id0]"#]);
        assert_eq!((script.asked().len(), ended.report().failures), (1, 0));
        assert_eq!(CallError::from(ended).to_string(), error.to_string());
    }
}

/// T6, T11: what the authorizer denies the caller, the run is denied; nothing of the tool runs.
#[tokio::test]
async fn a_tool_that_the_caller_may_not_call_ends_the_run() {
    let (log, script) = (Log::default(), Script::of([asks([("echo", "{}")])]));
    let model = loom_agent::agent_model("agent", script.clone()).build();
    let runtime = loom_effect_runtime::EffectRuntime::builder()
        .authorizer(authorize(|call, _| match (call.tool(), call.identity().principal().id()) {
            ("echo", "ada") => Step::Deny(Refusal::capability_denied("echo")),
            _ => Step::Go,
        }))
        .effect(model)
        .effect(echo(&log))
        .build()
        .unwrap();
    let runner =
        AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "echo")).build().unwrap();
    let error = CallError::from(runner.run(&caller(&runtime), "hi").await.unwrap_err());
    assert_eq!((error.name(), error.refusal().unwrap().grant()), (ErrorName::CapabilityDenied, Some("echo")));
    assert!(log.lines().is_empty());
}

/// Says so when it is dropped.
struct Dropped(Log);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.say("dropped");
    }
}

/// T11: a refusal cancels what else is in flight, and what was not begun never is.
#[tokio::test]
async fn a_refusal_leaves_nothing_in_flight() {
    let calls = [("parks", "{}"), ("denied", "{}"), ("parks", "{}")];
    let (log, script, began) = (Log::default(), Script::of([asks(calls)]), Arc::new(Notify::new()));
    let parks = {
        let (log, began) = (log.clone(), Arc::clone(&began));
        act("parks", move |_: Value, _| {
            let guard = Dropped(log.clone());
            began.notify_one();
            async move {
                let _guard = guard;
                std::future::pending::<Result<String, CallError>>().await
            }
        })
    };
    let denied = act("denied", move |_: Value, _| {
        let began = Arc::clone(&began);
        async move {
            began.notified().await;
            Err::<String, _>(CallError::from(Refusal::quota("q")))
        }
    });
    let runtime = runtime(&script, |builder| builder.effect(parks).effect(denied));
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap())
        .tool(any(&runtime, "parks"))
        .tool(any(&runtime, "denied"))
        .limits(AgentLimits::default().with_concurrent_tool_calls(2))
        .build()
        .unwrap();
    let error = within(runner.run(&caller(&runtime), "hi")).await.unwrap_err();
    assert_eq!(error.fault().call_error().unwrap().name(), ErrorName::QuotaExceeded);
    assert_eq!(log.lines(), ["dropped"], "one was in flight, the other was not begun");
}

#[tokio::test]
async fn every_other_failure_is_told_by_its_stable_name_alone() {
    let typed = TypedFailure::new(FailureChannel::SCHEMA_DRIFT, json!({"got": "canary"}));
    let mut failures = vec![CallError::failed(io::Error::other("canary")), typed.into()];
    let others = ErrorName::ALL.iter().filter(|name| !name.is_refusal());
    failures.extend(others.map(|name| CallError::named(*name, "canary")));
    for error in failures {
        let (script, outcome) = failing(error.clone()).await;
        let report = outcome.unwrap().report;
        assert_eq!((report.steps, report.tool_calls, report.failures), (2, 1, 1));
        let told = format!("tool#id0! {}", error.name());
        assert_eq!(lines(&script.asked()[1].messages)[2], told);
    }
}

#[tokio::test]
async fn a_tool_that_panics_is_a_failure_that_is_told() {
    let script = Script::of([asks([("panics", "{}")])]);
    let panics =
        act("panics", |_: Value, _| async { if true { panic!("canary") } else { Ok(String::new()) } });
    let runtime = runtime(&script, |builder| builder.effect(panics));
    let runner =
        AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "panics")).build().unwrap();
    let report = runner.run(&caller(&runtime), "hi").await.unwrap().report;
    assert_eq!(lines(&report.transcript)[2], "tool#id0! EffectPanickedError");
}

#[tokio::test]
async fn a_name_that_is_no_tool_of_the_runner_calls_nothing() {
    // An effect of the runtime that the runner was not given is none either, and neither is a name that is near.
    let (log, names) = (Log::default(), ["", "other", "Echo", "echo ", "agent"]);
    for name in names {
        let script = Script::of([asks([(name, "{}")])]);
        let runtime = runtime(&script, |builder| {
            builder.effect(echo(&log)).effect(act("other", |_: Value, _| async { Ok(String::new()) }))
        });
        let runner =
            AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "echo")).build().unwrap();
        let report = runner.run(&caller(&runtime), "hi").await.unwrap().report;
        assert_eq!(lines(&report.transcript)[2], "tool#id0! ToolNotFoundError");
        assert_eq!((report.tool_calls, report.failures, script.asked().len()), (0, 1, 2));
    }
    assert!(log.lines().is_empty());
}

#[tokio::test]
async fn a_result_that_is_too_long_is_told_as_a_failure_and_not_cut() {
    for (bytes, told) in
        [(RESULT_BYTES_MAX, None), (RESULT_BYTES_MAX + 1, Some("tool#id0! OutputInvalidError"))]
    {
        let script = Script::of([asks([("long", "{}")])]);
        let long = act("long", move |_: Value, _| async move { Ok("x".repeat(bytes)) });
        let runtime = runtime(&script, |builder| builder.effect(long));
        let runner =
            AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "long")).build().unwrap();
        let report = runner.run(&caller(&runtime), "hi").await.unwrap().report;
        let result = &lines(&report.transcript)[2];
        match told {
            Some(told) => assert_eq!(result, told),
            None => assert_eq!(result.len(), "tool#id0: ".len() + bytes),
        }
        assert_eq!(report.tool_calls, 1);
    }
}

/// One run: each step is a list of calls, `f` fails, `o` does not.
async fn steps(
    limits: AgentLimits,
    steps: &[&str],
) -> Result<loom_agent::AgentOutcome, loom_agent::AgentError> {
    let script = Script::of(
        steps
            .iter()
            .map(|step| asks(step.chars().map(|call| (if call == 'f' { "fails" } else { "echo" }, "{}")))),
    );
    let fails = act("fails", |_: Value, _| async {
        Err::<String, _>(CallError::named(ErrorName::Provider, "of a tool"))
    });
    let runtime = runtime(&script, |builder| builder.effect(fails).effect(echo(&Log::default())));
    AgentRunner::builder(runtime.tool("agent").unwrap())
        .tool(any(&runtime, "fails"))
        .tool(any(&runtime, "echo"))
        .limits(limits)
        .build()
        .unwrap()
        .run(&caller(&runtime), "hi")
        .await
}

#[tokio::test]
async fn failures_in_a_row_end_the_run_with_the_last_one() {
    let default = AgentLimits::default();
    for (limits, calls, failures) in [
        (default, &["f", "f", "f"][..], 3),
        (default, &["of", "ff"], 3),
        (default, &["ffffff"], 6),
        (default.in_order(), &["ffffff"], 3),
        (default.with_failures(1), &["of"], 1),
        (default.with_failures(0), &["f"], 1),
    ] {
        let error = steps(limits, calls).await.unwrap_err();
        let AgentFault::ToolFailures { in_a_row, error: last } = error.fault() else { panic!("{error}") };
        assert_eq!((*in_a_row, last.name()), (limits.failures, ErrorName::Provider), "{calls:?}");
        assert!(error.report().failures >= limits.failures && error.report().failures <= failures);
        assert_eq!(error.report().steps as usize, calls.len());
        assert_eq!(CallError::from(error).to_string(), "of a tool");
    }
    let error = steps(default.in_order(), &["ffffff"]).await.unwrap_err();
    assert_eq!(error.report().tool_calls, 3, "in order, the rest is not called");
    for calls in [&["ff", "of", "f"][..], &["ffoff"], &["ff", "o", "ff", "o"]] {
        assert!(steps(default, calls).await.is_ok(), "{calls:?}");
    }
}
