//! Live views of a run, and its cancellation.

use std::sync::{Arc, Mutex};

use loom_agent::{AgentFault, AgentRunner, agent_model};
use loom_effect_runtime::{AbortReason, CallError, CallRef, EffectDelta, EffectRuntime, Signal, around};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::Notify;

use crate::stage::*;

/// A sink's view of a run: who was told, of which call, in which attempt, what.
fn told(log: &Log, who: &'static str) -> impl Fn(&CallRef<'_>, &EffectDelta<'_>) + Send + Sync + 'static {
    let (log, numbers) = (log.clone(), Mutex::new(Vec::new()));
    move |call, delta| {
        let mut numbers = numbers.lock().unwrap();
        let known = numbers.iter().position(|number| *number == call.number());
        let nth = known.unwrap_or_else(|| {
            numbers.push(call.number());
            numbers.len() - 1
        });
        let what = match delta {
            EffectDelta::Text { text, .. } => text.unwrap_tainted().to_owned(),
            EffectDelta::Reset { attempt, .. } => format!("<reset {attempt}>"),
            EffectDelta::Done { .. } => "<done>".to_owned(),
            other => format!("{other:?}"),
        };
        log.say(format!("{who} {} {nth}.{}: {what}", call.step_id(), call.attempt()));
    }
}

/// A runner over a model with a configured sink, in a runtime where every call of the model runs twice if `again`.
fn watched(script: &Script, log: &Log, again: bool) -> (AgentRunner, loom_effect_runtime::Caller) {
    let model = agent_model("agent", script.clone()).on_delta(told(log, "configured")).build();
    let mut builder = EffectRuntime::builder().allow_all_calls().effect(model).effect(echo(&Log::default()));
    if again {
        builder = builder.around(around("again", |call, mut next| {
            Box::pin(async move {
                if call.tool() == "agent" {
                    drop(next.run().await);
                }
                next.run().await
            })
        }));
    }
    let runtime = builder.build().unwrap();
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "echo"));
    (runner.build().unwrap(), caller(&runtime))
}

fn two_steps() -> Script {
    Script::of([[says("one"), asks([("echo", "{}")])].concat(), says("two")])
}

/// D1, D4: a run's sink sees every model call of it, before the configured sink, each with its own `done`.
#[tokio::test]
async fn the_sink_of_a_run_sees_every_model_call_first() {
    let log = Log::default();
    let (runner, ada) = watched(&two_steps(), &log, false);
    runner.run(&ada, "hi").on_delta(told(&log, "run")).await.unwrap();
    let expected = [
        "run agent 0.1: one",
        "configured agent 0.1: one",
        "run agent 0.1: <done>",
        "run agent 1.1: two",
        "configured agent 1.1: two",
        "run agent 1.1: <done>",
    ];
    assert_eq!(log.lines(), expected);
}

/// D12: the agent-model effect's sink is the effect's declared one: it gets text and resets and never done, with and
/// without a run's own sink, and each delivery names its call.
#[tokio::test]
async fn the_configured_sink_gets_text_and_resets_and_never_done() {
    for beside in [false, true] {
        let log = Log::default();
        let script = Script::of([says("a"), asks([("echo", "{}")]), says("b"), says("c")]);
        let (runner, ada) = watched(&script, &log, true);
        let run = runner.run(&ada, "hi");
        let run = if beside { run.on_delta(|_, _| {}) } else { run };
        run.await.unwrap();
        let expected = [
            "configured agent 0.1: a",
            "configured agent 0.2: <reset 2>",
            "configured agent 1.1: b",
            "configured agent 1.2: <reset 2>",
            "configured agent 1.2: c",
        ];
        assert_eq!(log.lines(), expected);
    }
}

#[derive(Debug, Error)]
#[error("the user left")]
struct Left;

/// D8, T10: the run's signal reaches a model call and a tool call alike; the run ends with the aborter's own reason.
#[tokio::test]
async fn an_abort_ends_the_run_with_its_own_reason() {
    for in_tool in [false, true] {
        let (began, dropped, signal) = (Arc::new(Notify::new()), Log::default(), Signal::new());
        let mut script = Script::of([if in_tool { asks([("parks", "{}")]) } else { says("on and on") }]);
        script.parks = !in_tool;
        let parks = {
            let (began, dropped) = (Arc::clone(&began), dropped.clone());
            act("parks", move |_: Value, _| {
                let (guard, began) = (Guard(dropped.clone()), Arc::clone(&began));
                async move {
                    let _guard = guard;
                    began.notify_one();
                    std::future::pending::<Result<String, CallError>>().await
                }
            })
        };
        let runtime = runtime(&script, |builder| builder.effect(parks));
        let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "parks"));
        let streaming = Arc::clone(&began);
        let run = runner.build().unwrap().run(&caller(&runtime), "hi").signal(signal.clone()).on_delta(
            move |_, delta| {
                if matches!(delta, EffectDelta::Text { .. }) {
                    streaming.notify_one();
                }
            },
        );
        let run = tokio::spawn(run.into_future());
        within(began.notified()).await;
        let reason: AbortReason = Arc::new(Left);
        signal.abort(Arc::clone(&reason));
        let error = within(run).await.unwrap().unwrap_err();
        assert_eq!(matches!(error.fault(), AgentFault::ToolRefused { .. }), in_tool, "{error}");
        let cause = CallError::from(error).abort_reason().unwrap();
        assert!(Arc::ptr_eq(&cause, &reason));
        assert_eq!(dropped.lines().len(), usize::from(in_tool));
    }
}

/// D8: a signal that was raised before starts nothing.
#[tokio::test]
async fn a_run_that_is_aborted_before_it_begins_asks_nobody() {
    let (script, signal) = (two_steps(), Signal::new());
    let (runner, ada) = echoing(&script, &Log::default());
    signal.abort_with(Left);
    let error = runner.run(&ada, "hi").signal(signal).await.unwrap_err();
    assert!(CallError::from(error).abort_reason().unwrap().is::<Left>());
    assert!(script.asked().is_empty());
}

struct Guard(Log);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.say("dropped");
    }
}

/// D8: dropping a run cancels every call that is in flight.
#[tokio::test]
async fn a_run_that_is_dropped_leaves_no_call_behind() {
    let (began, dropped) = (Arc::new(Notify::new()), Log::default());
    let script = Script::of([asks([("parks", "{}"), ("parks", "{}"), ("parks", "{}")])]);
    let parks = {
        let (began, dropped) = (Arc::clone(&began), dropped.clone());
        act("parks", move |_: Value, _| {
            let (guard, began) = (Guard(dropped.clone()), Arc::clone(&began));
            async move {
                let _guard = guard;
                began.notify_one();
                std::future::pending::<Result<String, CallError>>().await
            }
        })
    };
    let runtime = runtime(&script, |builder| builder.effect(parks));
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "parks"));
    let mut run = runner.build().unwrap().run(&caller(&runtime), "hi").into_future();
    assert!(futures::poll!(&mut run).is_pending());
    within(began.notified()).await;
    assert!(dropped.lines().is_empty());
    drop(run);
    assert_eq!(dropped.lines().len(), 3);
}
