//! The scope of a decider: identity, keys, lifetime and ceilings.

#[cfg(test)]
mod stage;

use std::future::IntoFuture;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallError, DecideScopeClosedError, Delegation, EffectRuntime, ErrorName, Invocation, Invoke, Principal,
    Signal, Step, Usage, authorize, before,
};
use loom_workflow::memory::MemoryStore;
use loom_workflow::{Ctx, DecideScope, Workflow, WorkflowError, flow};
use serde_json::{Value, json};
use stage::*;
use tokio::sync::{Notify, Semaphore};

/// Runs a flow called `run` to its end.
#[cfg(test)]
async fn ended(workflow: &Workflow) -> Result<Value, WorkflowError> {
    let handle = workflow.start::<Value>("run", &json!(0), as_id("a")).await?;
    handle.wait_for_completion().await
}

/// T6: authorizer and middleware see a scope call as the execution: flow, execution, full chain, delegation and actor;
/// a delegation that does not cover the effect denies it.
#[tokio::test]
async fn a_scope_call_runs_as_its_execution() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let note = |who: &'static str| {
        let seen = Arc::clone(&seen);
        move |call: &loom_effect_runtime::Call| {
            let principal = call.identity().principal();
            seen.lock().unwrap().push(json!([
                who,
                call.workflow_id(),
                call.execution_id(),
                principal.chain().collect::<Vec<_>>(),
                principal.delegation().map(Delegation::issuer),
                principal.actor(),
                call.step_id(),
            ]));
        }
    };
    let (authorizer, middleware) = (note("authorizer"), note("middleware"));
    let runtime = EffectRuntime::builder()
        .authorizer(authorize(move |call, _| {
            authorizer(call);
            Step::Go
        }))
        .middleware(before("see", move |call, _| {
            middleware(call);
            Step::Go
        }))
        .effect(Act::echo("covered"))
        .effect(Act::echo("other"))
        .build()
        .unwrap();
    let run = flow("run", "1", |ctx: Ctx, _: Value| async move {
        ctx.decide("d", async |scope| {
            scope.invoke_transient("covered", json!(1)).await?;
            let denied = scope.invoke_transient("other", json!(1)).await.unwrap_err();
            Ok(json!(denied.name().as_str()))
        })
        .await
    });
    let store = MemoryStore::new();
    let workflow = workflow(&store, runtime, [run]);
    let principal = Principal::new("planner")
        .on_behalf_of(["ada", "acme"])
        .with_delegation(Delegation::new("ada", ["covered"]))
        .with_actor("cli");
    let options = as_id("a").principal(principal);
    let handle = workflow.start::<Value>("run", &json!(0), options).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap(), json!("CapabilityDeniedError"));
    let line = |who| json!([who, "run", "a", ["planner", "ada", "acme"], "ada", "cli", "covered"]);
    assert_eq!(*seen.lock().unwrap(), [line("authorizer"), line("middleware")]);
}

/// T8: the first run's keys count 1, 2, 3 over every decide of the execution; after a crash between two decides of one
/// id they go on in the next epoch's range; none repeats.
#[tokio::test]
async fn call_keys_never_repeat_over_an_executions_life() {
    let (store, notes, gate) = (MemoryStore::new(), Notes::default(), Arc::new(Semaphore::new(0)));
    let llm = Act::says("llm", &["x"]).sink(notes.clone());
    let acts = [llm, Act::gated("hold", Arc::clone(&gate))];
    let open = || {
        let ask = async |scope: DecideScope| scope.invoke_transient("llm", json!(1)).await;
        let run = flow("run", "1", move |ctx: Ctx, _: Value| async move {
            ctx.decide("plan", async move |scope| {
                ask(scope.clone()).await?;
                ask(scope).await
            })
            .await?;
            ctx.decide("check", ask).await?;
            ctx.run("hold", "hold", json!(1)).await?;
            ctx.decide("plan", ask).await
        });
        workflow(&store, runtime(acts.clone()), [run])
    };
    let first = open();
    first.start::<Value>("run", &json!(0), as_id("a")).await.unwrap();
    settle().await;
    drop(first);
    gate.add_permits(1);
    ended(&open()).await.unwrap();
    let key = |line: &String| line.split(' ').nth(1).map(str::to_owned);
    let keys: Vec<_> = notes.all().iter().filter_map(key).collect();
    let expected = [
        "decide:plan:1:",
        "decide:plan:2:",
        "decide:check:3:",
        &format!("decide:plan:{}:", (1_u64 << 32) + 1),
    ];
    assert_eq!(keys, expected);
    assert_eq!(kinds(&store, "a").await[4], "DECISION_RECORDED plan~2");
}

/// T10: a call that was given to a task and not awaited is aborted when its decider settles, with
/// DecideScopeClosedError as its reason; a call after that fails with the same.
#[tokio::test]
async fn a_scope_closes_when_its_decider_settles() {
    let (store, began) = (MemoryStore::new(), Arc::new(Notify::new()));
    let (act, left) = (Act::parks("parks", Arc::clone(&began)), Arc::new(Mutex::new(None)));
    let keep = Arc::clone(&left);
    let run = flow("run", "1", move |ctx: Ctx, _: Value| {
        let (began, keep) = (Arc::clone(&began), Arc::clone(&keep));
        async move {
            ctx.decide("d", async move |scope| {
                let task = tokio::spawn(scope.invoke_transient("parks", json!(1)).into_future());
                began.notified().await;
                *keep.lock().unwrap() = Some((task, scope));
                Ok(json!("settled"))
            })
            .await
        }
    });
    let workflow = workflow(&store, runtime([act.clone()]), [run]);
    assert_eq!(ended(&workflow).await.unwrap(), json!("settled"));
    let (task, scope) = left.lock().unwrap().take().unwrap();
    let after = scope.invoke_transient("parks", json!(1)).await.unwrap_err();
    for error in [task.await.unwrap().unwrap_err(), after] {
        assert_eq!(error.name(), ErrorName::DecideScopeClosed);
        assert!(error.abort_reason().unwrap().is::<DecideScopeClosedError>());
    }
    assert_eq!(act.runs(), 1);
}

/// T10: a scope closes on a panic and on a dropped decision too.
#[tokio::test]
async fn a_scope_closes_however_its_decider_ends() {
    let store = MemoryStore::new();
    let kept: Arc<Mutex<Vec<DecideScope>>> = Arc::default();
    let flows = ["panics", "dropped"].map(|how| {
        let kept = Arc::clone(&kept);
        flow(how, "1", move |ctx: Ctx, _: Value| {
            let kept = Arc::clone(&kept);
            async move {
                let decision = ctx.decide("d", async move |scope| -> Result<Value, CallError> {
                    kept.lock().unwrap().push(scope);
                    assert_ne!(how, "panics", "out of a decider");
                    std::future::pending().await
                });
                let mut decision = Box::pin(decision.into_future());
                assert!(futures::poll!(&mut decision).is_pending());
                Ok::<_, CallError>(Value::Null)
            }
        })
    });
    let workflow = workflow(&store, runtime([Act::echo("act")]), flows);
    for how in ["panics", "dropped"] {
        let handle = workflow.start::<Value>(how, &json!(0), as_id(how)).await.unwrap();
        assert_eq!(handle.wait_for_completion().await.is_err(), how == "panics");
        let scope = kept.lock().unwrap().pop().unwrap();
        let error = scope.invoke_transient("act", json!(1)).await.unwrap_err();
        assert_eq!(error.name(), ErrorName::DecideScopeClosed);
    }
}

/// T12: a scope's own ceilings hold over all of its calls, by calls, by reported usage and by live text, whose
/// breaching delta reaches no sink; they are live only.
#[tokio::test]
async fn a_scope_holds_its_own_ceilings() {
    let (store, notes) = (MemoryStore::new(), Notes::default());
    let acts = [
        Act::echo("act"),
        Act::costs("pay", Usage::new(30, 30)),
        // 4 and 1 bytes, then 9: one token, one, three.
        Act::says("llm", &["four", "x", "nine char"]).sink(notes.clone()),
    ];
    let run = flow("run", "1", |ctx: Ctx, _: Value| async move {
        let rule = |result: Result<Value, CallError>| match result {
            Ok(_) => "ok".to_owned(),
            Err(error) => format!("{} {}", error.name(), error.rule().unwrap_or_default()),
        };
        let calls = async |scope: DecideScope, tool: &'static str, n: u32| {
            let mut rules = Vec::new();
            for _ in 0..n {
                rules.push(rule(scope.invoke_transient(tool, json!(1)).await));
            }
            Ok::<_, CallError>(rules)
        };
        let by_calls = ctx.decide("calls", async |scope| calls(scope, "act", 3).await).max_calls(2).await?;
        let by_usage =
            ctx.decide("usage", async |scope| calls(scope, "pay", 3).await).max_tokens(100).await?;
        let by_text = ctx.decide("text", async |scope| calls(scope, "llm", 2).await).max_tokens(4).await?;
        let free = ctx.decide("free", async |scope| calls(scope, "llm", 1).await).max_tokens(5).await?;
        Ok::<_, CallError>(json!([by_calls, by_usage, by_text, free]))
    });
    let workflow = workflow(&store, runtime(acts), [run]);
    let (calls, tokens) = ("QuotaExceededError scope.max_calls", "QuotaExceededError scope.max_tokens");
    let expected = json!([["ok", "ok", calls], ["ok", tokens, tokens], [tokens, tokens], ["ok"]]);
    assert_eq!(ended(&workflow).await.unwrap(), expected);
    let texts: Vec<_> =
        notes.all().iter().filter_map(|line| line.split(": ").nth(1).map(str::to_owned)).collect();
    assert_eq!(texts, ["four", "x", "four", "x", "nine char"]);
    assert_eq!(workflow.replay(&id("a")).await.unwrap().served_decisions, 4);
}

/// D8: a call that is handed to the scope through the seam keeps its signal and its sink, runs as the execution and
/// counts against the ceiling of the scope.
#[tokio::test]
async fn a_call_through_the_seam_keeps_its_options_and_counts() {
    let began = Arc::new(Notify::new());
    let (signal, sink) = (Signal::new(), Notes::default());
    let acts = [Act::parks("park", Arc::clone(&began)), Act::echo("act")];
    let run = {
        let (signal, sink) = (signal.clone(), sink.clone());
        flow("run", "1", move |ctx: Ctx, _: Value| {
            let (signal, sink) = (signal.clone(), sink.clone());
            async move {
                let decided = ctx.decide("d", async move |scope| {
                    let scope: &dyn Invoke = &scope;
                    let parked = Invocation::<Value>::new("park", json!(0)).signal(signal);
                    let (parked, _) = parked.on_delta_sink(Arc::new(sink)).by(scope).await;
                    let reason = parked
                        .unwrap_err()
                        .abort_reason()
                        .is_some_and(|reason| reason.is::<std::fmt::Error>());
                    let (second, _) = Invocation::<Value>::new("act", json!(1)).by(scope).await;
                    let (third, _) = Invocation::<Value>::new("act", json!(1)).by(scope).await;
                    Ok(json!([reason, second?, third.unwrap_err().name().as_str()]))
                });
                decided.max_calls(2).await
            }
        })
    };
    let store = MemoryStore::new();
    let workflow = workflow(&store, runtime(acts), [run]);
    let handle = workflow.start::<Value>("run", &json!(0), as_id("a")).await.unwrap();
    began.notified().await;
    signal.abort_with(std::fmt::Error);
    let outcome = handle.wait_for_completion().await.unwrap();
    assert_eq!(outcome, json!([true, {"did": 1}, "QuotaExceededError"]));
    assert_eq!(sink.all(), ["a/park decide:d:1: half a thought"]);
}
