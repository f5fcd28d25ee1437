//! Decisions and their scope: identity, keys, lifetime, ceilings, denials, and what of them is kept.

#[cfg(test)]
mod stage;

use std::future::IntoFuture;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallError, DecideScopeClosedError, Delegation, EffectDelta, EffectRuntime, ErrorName, Principal, Refusal,
    Signal, Step, Usage, authorize, before,
};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::Event;
use loom_workflow::{Ctx, DecideScope, Flow, Workflow, WorkflowError, flow};
use serde_json::{Value, json};
use stage::*;
use tokio::sync::{Notify, Semaphore};

/// Runs a flow called `run` to its end.
#[cfg(test)]
async fn ended(workflow: &Workflow) -> Result<Value, WorkflowError> {
    let handle = workflow.start::<Value>("run", &json!(0), as_id("a")).await?;
    handle.wait_for_completion().await
}

/// D5: a journal holds what a decider returns and nothing that the model said; on replay neither decider, effect nor
/// sink runs.
#[tokio::test]
async fn a_decision_keeps_its_value_and_nothing_of_what_led_to_it() {
    let (store, notes) = (MemoryStore::new(), Notes::default());
    let llm = Act::says("llm", &["canary-", "4242 ", "{\"steps\": 2}"]).sink(notes.clone());
    let deciders = Arc::new(Mutex::new(0));
    let (own, counted) = (notes.clone(), Arc::clone(&deciders));
    let run = flow("run", "1", move |ctx: Ctx, _: Value| {
        let (own, counted) = (own.clone(), Arc::clone(&counted));
        async move {
            ctx.decide("plan", async move |scope| {
                *counted.lock().unwrap() += 1;
                let answer = scope
                    .invoke_transient("llm", json!("go"))
                    .on_delta(move |delta| {
                        if let EffectDelta::Text { text, .. } = delta {
                            own.note(format!("own: {}", text.unwrap_tainted()));
                        }
                    })
                    .await?;
                assert!(answer.as_str().unwrap().contains("canary-4242"));
                Ok(json!({"decided": "two steps"}))
            })
            .await
        }
    });
    let workflow = workflow(&store, runtime([llm.clone()]), [run]);
    assert_eq!(ended(&workflow).await.unwrap(), json!({"decided": "two steps"}));
    assert_eq!(kinds(&store, "a").await, ["EXECUTION_STARTED", "DECISION_RECORDED plan", "EXECUTION_COMPLETED"]);
    let text = format!("{:?}", journal(&store, "a").await);
    assert!(text.contains("two steps"), "the search finds nothing at all");
    assert!(!text.contains("canary") && !text.contains("4242"));
    let heard = notes.all();
    assert!(heard.contains(&"own: canary-".to_owned()) && heard.contains(&"a/llm decide:plan:1: canary-".to_owned()));
    let report = workflow.replay(&id("a")).await.unwrap();
    assert_eq!((report.served_decisions, report.effect_calls, report.events), (1, 0, 3));
    assert_eq!((llm.runs(), *deciders.lock().unwrap(), notes.all().len()), (1, 1, heard.len()));
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
    let expected =
        ["decide:plan:1:", "decide:plan:2:", "decide:check:3:", &format!("decide:plan:{}:", (1_u64 << 32) + 1)];
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

/// D8: the decider's own signal adds to the call's; an abort in mid-stream rejects the call with the reason itself,
/// the effect's future is dropped, and the log ends with the failure and holds no decision.
#[tokio::test]
async fn an_abort_in_mid_stream_ends_the_log_with_the_failure() {
    let (store, began) = (MemoryStore::new(), Arc::new(Notify::new()));
    let own: Arc<dyn std::error::Error + Send + Sync> = Arc::new(std::io::Error::other("enough"));
    let (reason, act) = (Arc::clone(&own), Act::parks("parks", Arc::clone(&began)));
    let run = flow("run", "1", move |ctx: Ctx, _: Value| {
        let (began, reason) = (Arc::clone(&began), Arc::clone(&reason));
        async move {
            ctx.decide("d", async move |scope| {
                let signal = Signal::new();
                let call = scope.invoke_transient("parks", json!(1)).signal(signal.clone());
                let stop = async {
                    began.notified().await;
                    signal.abort(reason);
                };
                futures::join!(call.into_future(), stop).0
            })
            .await
        }
    });
    let workflow = workflow(&store, runtime([act]), [run]);
    let error = ended(&workflow).await.unwrap_err();
    assert!(Arc::ptr_eq(&own, &error.abort_reason().unwrap()));
    let journal = journal(&store, "a").await;
    assert_eq!(kinds(&store, "a").await, ["EXECUTION_STARTED", "EXECUTION_FAILED"]);
    let Event::ExecutionFailed(failed) = &journal[1].event else { panic!("no failure") };
    assert_eq!(failed.failure.name, "AbortError");
    let text = format!("{journal:?}");
    assert!(!text.contains("half a thought") && !text.contains("enough"));
    assert_eq!(workflow.replay(&id("a")).await.unwrap().effect_calls, 0);
}

/// D8 T10: a cancel of the execution aborts a decider's call in mid-stream with the canceller's own error; what the
/// decider makes of it is not recorded.
#[tokio::test]
async fn a_cancel_reaches_a_deciders_call_and_no_decision_follows() {
    let (store, began) = (MemoryStore::new(), Arc::new(Notify::new()));
    let seen = Arc::new(Mutex::new(None));
    let (act, keep) = (Act::parks("parks", Arc::clone(&began)), Arc::clone(&seen));
    let run = flow("run", "1", move |ctx: Ctx, _: Value| {
        let keep = Arc::clone(&keep);
        async move {
            ctx.decide("d", async move |scope| {
                let error = scope.invoke_transient("parks", json!(1)).await.unwrap_err();
                *keep.lock().unwrap() = error.abort_reason();
                Ok(json!("swallowed"))
            })
            .await
        }
    });
    let workflow = workflow(&store, runtime([act]), [run]);
    let handle = workflow.start::<Value>("run", &json!(0), as_id("a")).await.unwrap();
    began.notified().await;
    let own: Arc<dyn std::error::Error + Send + Sync> = Arc::new(std::io::Error::other("enough"));
    handle.cancel_with(Arc::clone(&own));
    let error = handle.wait_for_completion().await.unwrap_err();
    assert!(Arc::ptr_eq(&own, &error.abort_reason().unwrap()));
    assert!(Arc::ptr_eq(&own, seen.lock().unwrap().as_ref().unwrap()));
    let expected = ["EXECUTION_STARTED", "CANCEL_REQUESTED", "EXECUTION_CANCELLED"];
    assert_eq!(kinds(&store, "a").await, expected);
    assert_eq!(workflow.replay(&id("a")).await.unwrap().effect_calls, 0);
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
        let by_usage = ctx.decide("usage", async |scope| calls(scope, "pay", 3).await).max_tokens(100).await?;
        let by_text = ctx.decide("text", async |scope| calls(scope, "llm", 2).await).max_tokens(4).await?;
        let free = ctx.decide("free", async |scope| calls(scope, "llm", 1).await).max_tokens(5).await?;
        Ok::<_, CallError>(json!([by_calls, by_usage, by_text, free]))
    });
    let workflow = workflow(&store, runtime(acts), [run]);
    let (calls, tokens) = ("QuotaExceededError scope.max_calls", "QuotaExceededError scope.max_tokens");
    let expected = json!([["ok", "ok", calls], ["ok", tokens, tokens], [tokens, tokens], ["ok"]]);
    assert_eq!(ended(&workflow).await.unwrap(), expected);
    let texts: Vec<_> = notes.all().iter().filter_map(|line| line.split(": ").nth(1).map(str::to_owned)).collect();
    assert_eq!(texts, ["four", "x", "four", "x", "nine char"]);
    assert_eq!(workflow.replay(&id("a")).await.unwrap().served_decisions, 4);
}

#[cfg(test)]
fn denying(store: &MemoryStore, run: Flow) -> Workflow {
    let deny = authorize(|_, _| Step::Deny(Refusal::capability_denied("tool:llm")));
    let runtime = EffectRuntime::builder().authorizer(deny).effect(Act::echo("llm")).build().unwrap();
    workflow(store, runtime, [run])
}

/// T13: a denial that the decider catches leaves no trace in the journal.
#[tokio::test]
async fn a_denial_that_a_decider_catches_leaves_no_trace() {
    let store = MemoryStore::new();
    let run = flow("run", "1", |ctx: Ctx, _: Value| async move {
        ctx.decide("d", async |scope| {
            let denied = scope.invoke_transient("llm", json!(1)).await.unwrap_err();
            assert_eq!(denied.name(), ErrorName::CapabilityDenied);
            Ok(json!("without"))
        })
        .await
    });
    assert_eq!(ended(&denying(&store, run)).await.unwrap(), json!("without"));
    assert_eq!(kinds(&store, "a").await, ["EXECUTION_STARTED", "DECISION_RECORDED d", "EXECUTION_COMPLETED"]);
    let text = format!("{:?}", journal(&store, "a").await);
    assert!(text.contains("without") && !text.contains("CapabilityDenied") && !text.contains("tool:llm"));
}

/// T13: a denial that is propagated ends the log with the failure: its name, no decision, no EFFECT_DENIED.
#[tokio::test]
async fn a_denial_that_is_propagated_ends_the_log_with_the_failure() {
    let store = MemoryStore::new();
    let run = flow("run", "1", |ctx: Ctx, _: Value| async move {
        ctx.decide("d", async |scope| scope.invoke_transient("llm", json!(1)).await).await
    });
    let workflow = denying(&store, run);
    assert_eq!(ended(&workflow).await.unwrap_err().name(), ErrorName::CapabilityDenied);
    assert_eq!(kinds(&store, "a").await, ["EXECUTION_STARTED", "EXECUTION_FAILED"]);
    let report = workflow.replay(&id("a")).await.unwrap();
    let loom_workflow::Replayed::Ended(Err(error)) = report.outcome else { panic!("no failure") };
    assert_eq!((error.name(), error.call().unwrap().rule()), (ErrorName::CapabilityDenied, Some("grant")));
}

/// T13 T15: a flow that goes on after a failed decider takes the same way after a crash and on replay: the failure's
/// name is recorded with what follows, and the decider does not run again.
#[tokio::test]
async fn a_flow_that_survives_a_failed_decider_takes_the_same_way_again() {
    let (store, gate) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let deciders = Arc::new(Mutex::new(0));
    let acts = [Act::gated("hold", Arc::clone(&gate))];
    let open = || {
        let counted = Arc::clone(&deciders);
        let run = flow("run", "1", move |ctx: Ctx, _: Value| {
            let counted = Arc::clone(&counted);
            async move {
                let failed = ctx.decide("d", async move |_| -> Result<Value, CallError> {
                    *counted.lock().unwrap() += 1;
                    Err(Refusal::safety("pii.card").at(3, 16).into())
                });
                let error = failed.await.unwrap_err();
                let place = error.refusal().unwrap().span();
                ctx.run("hold", "hold", json!([error.rule(), place])).await
            }
        });
        workflow(&store, runtime(acts.clone()), [run])
    };
    let first = open();
    first.start::<Value>("run", &json!(0), as_id("a")).await.unwrap();
    settle().await;
    drop(first);
    gate.add_permits(1);
    let second = open();
    assert_eq!(ended(&second).await.unwrap(), json!({"did": ["pii.card", [3, 16]]}));
    let expected = ["EXECUTION_STARTED", "STEP_FAILED d", "STEP_COMPLETED hold", "EXECUTION_COMPLETED"];
    assert_eq!(kinds(&store, "a").await, expected);
    assert_eq!(second.replay(&id("a")).await.unwrap().served_decisions, 1);
    assert_eq!(*deciders.lock().unwrap(), 1);
}
