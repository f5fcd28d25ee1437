//! The loop inside a decide scope: its calls are the scope's.

use std::sync::{Arc, Mutex};

use loom_agent::{AgentFault, AgentRunner, agent_model};
use loom_effect_runtime::{
    CallError, CallRef, EffectDelta, EffectMode, EffectRuntime, ErrorName, Principal, Step, before,
};
use loom_llm::{ChatRequest, LlmReply};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::ExecutionId;
use loom_workflow::{Ctx, DecideScope, StartOptions, Workflow, WorkflowError, flow};
use serde_json::{Value, json};

use crate::stage::*;

fn two_steps() -> Script {
    Script::of([[says("one"), asks([("echo", "{}"), ("echo", "{}")])].concat(), says("two")])
}

fn runner(runtime: &EffectRuntime) -> AgentRunner {
    let builder = AgentRunner::builder(runtime.tool("agent").unwrap());
    builder.tool(any(runtime, "echo")).build().unwrap()
}

/// Runs one flow to its end.
async fn ended<F>(
    runtime: EffectRuntime,
    body: impl Fn(Ctx) -> F + Send + Sync + 'static,
) -> Result<Value, WorkflowError>
where
    F: Future<Output = Result<Value, CallError>> + Send + 'static,
{
    let flow = flow("run", "1", move |ctx: Ctx, _: Value| body(ctx));
    let workflow = Workflow::builder(runtime, Arc::new(MemoryStore::new())).flow(flow).build().unwrap();
    let options = StartOptions::new()
        .execution_id(ExecutionId::new("a").unwrap())
        .principal(Principal::new("planner").on_behalf_of(["ada"]));
    let handle = workflow.start::<Value>("run", &json!(0), options).await?;
    handle.wait_for_completion().await
}

/// T6, T8: each call of a run in a scope runs as the execution, with a call key of its own, in the order of the calls.
#[tokio::test]
async fn every_call_of_the_loop_is_a_scope_call_with_its_own_key() {
    let seen = Log::default();
    let noted = seen.clone();
    let model = agent_model("agent", two_steps()).on_delta({
        let seen = seen.clone();
        move |call: &CallRef<'_>, delta: &EffectDelta<'_>| {
            seen.say(format!("{} {}", call.call_key().unwrap(), delta.text().unwrap_tainted()));
        }
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(before("see", move |call, _| {
            let chain: Vec<_> = call.identity().principal().chain().collect();
            let key = call.call_key().unwrap();
            noted.say(format!("{} {}/{} {}", key, call.execution_id(), call.tool(), chain.join(",")));
            Step::Go
        }))
        .effect(model.build())
        .effect(echo(&Log::default()))
        .build()
        .unwrap();
    let runner = runner(&runtime);
    let answer = ended(runtime, move |ctx| {
        let runner = runner.clone();
        async move {
            ctx.decide("d", async move |scope| {
                let outcome = runner.run(&scope, "hi").await?;
                Ok(json!(outcome.report.tool_calls))
            })
            .await
        }
    });
    assert_eq!(answer.await.unwrap(), json!(2));
    let expected = [
        "decide:d:1 a/agent planner,ada",
        "decide:d:1 one",
        "decide:d:2 a/echo planner,ada",
        "decide:d:3 a/echo planner,ada",
        "decide:d:4 a/agent planner,ada",
        "decide:d:4 two",
    ];
    assert_eq!(seen.lines(), expected);
}

/// T12: a scope's ceilings hold for the loop; the breach ends the run with that very refusal, whichever call it meets.
#[tokio::test]
async fn the_ceilings_of_a_scope_hold_for_the_loop() {
    for (calls, in_tool, executed) in [(1, true, 0), (2, true, 1), (3, false, 2)] {
        let log = Log::default();
        let runtime = runtime(&two_steps(), |builder| builder.effect(echo(&log)));
        let runner = runner(&runtime);
        let answer = ended(runtime, move |ctx| {
            let runner = runner.clone();
            async move {
                let decider = async move |scope: DecideScope| {
                    let error = runner.run(&scope, "hi").await.unwrap_err();
                    let met = matches!(error.fault(), AgentFault::ToolRefused { .. });
                    let error = CallError::from(error);
                    Ok(json!([error.name().as_str(), error.rule(), met]))
                };
                ctx.decide("d", decider).max_calls(calls).await
            }
        });
        let expected = json!(["QuotaExceededError", "scope.max_calls", in_tool]);
        assert_eq!((answer.await.unwrap(), log.lines().len()), (expected, executed));
    }
}

/// T10: a run whose scope has closed fails with DecideScopeClosedError and asks nobody.
#[tokio::test]
async fn a_run_in_a_closed_scope_is_over() {
    let script = two_steps();
    let runtime = runtime(&script, |builder| builder.effect(echo(&Log::default())));
    let runner = runner(&runtime);
    let kept: Arc<Mutex<Option<DecideScope>>> = Arc::default();
    let keep = Arc::clone(&kept);
    ended(runtime, move |ctx| {
        let keep = Arc::clone(&keep);
        async move {
            ctx.decide("d", async move |scope| {
                *keep.lock().unwrap() = Some(scope);
                Ok(json!(0))
            })
            .await
        }
    })
    .await
    .unwrap();
    let scope = kept.lock().unwrap().take().unwrap();
    let error = CallError::from(runner.run(&scope, "hi").await.unwrap_err());
    assert_eq!((error.name(), script.asked().len()), (ErrorName::DecideScopeClosed, 0));
}

/// T7: a journaled effect is no tool of a loop, which is transient everywhere: the mode check ends the run.
#[tokio::test]
async fn a_journaled_tool_is_refused() {
    let (log, script) = (Log::default(), Script::of([asks([("echo", "{}")])]));
    let runtime = runtime(&script, |builder| builder.effect(echo(&log).mode(EffectMode::Journaled)));
    let runner = runner(&runtime);
    let error = CallError::from(runner.run(&caller(&runtime), "hi").await.unwrap_err());
    assert_eq!((error.name(), log.lines().len()), (ErrorName::EffectModeViolation, 0));
}

/// T19: a loop that runs for a bare caller inside a flow's task is refused: what it would give is not durable.
#[tokio::test]
async fn a_bare_run_inside_a_flow_is_refused() {
    let script = two_steps();
    let runtime = runtime(&script, |builder| builder.effect(echo(&Log::default())));
    let (runner, ada) = (runner(&runtime), caller(&runtime));
    let answer = ended(runtime, move |_| {
        let (runner, ada) = (runner.clone(), ada.clone());
        async move {
            let error = CallError::from(runner.run(&ada, "hi").await.unwrap_err());
            Ok(json!(error.name().as_str()))
        }
    });
    assert_eq!(answer.await.unwrap(), json!("EffectModeViolationError"));
    assert!(script.asked().is_empty());
}

/// D12: the agent-model effect's sink is guarded and told on the durable path too, and never of done.
#[tokio::test]
async fn the_configured_sink_is_told_on_the_durable_path() {
    let log = Log::default();
    let seen = log.clone();
    let model = agent_model("agent", Script::of([says("one")])).on_delta(move |call, delta| {
        let done = matches!(delta, EffectDelta::Done { .. });
        seen.say(format!(
            "{}/{} {} {done}",
            call.execution_id(),
            call.step_id(),
            delta.text().unwrap_tainted()
        ));
    });
    let runtime = EffectRuntime::builder().allow_all_calls().effect(model.build()).build().unwrap();
    ended(runtime, |ctx| async move {
        let request = ChatRequest::of(Vec::new());
        let reply: Value = ctx.run("ask", "agent", serde_json::to_value(request).unwrap()).await?;
        let _: LlmReply = serde_json::from_value(reply).unwrap();
        Ok(json!(0))
    })
    .await
    .unwrap();
    assert_eq!(log.lines(), ["a/ask one false"]);
}
