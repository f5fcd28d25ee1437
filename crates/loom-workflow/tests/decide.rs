//! Decisions: what of them is kept, and what becomes of aborts and denials inside them.

#[cfg(test)]
mod stage;

use std::future::IntoFuture;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallError, EffectDelta, EffectRuntime, ErrorName, Refusal, Signal, Step, authorize,
};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::Event;
use loom_workflow::{Ctx, Flow, Workflow, WorkflowError, flow};
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
    assert_eq!(
        kinds(&store, "a").await,
        ["EXECUTION_STARTED", "DECISION_RECORDED plan", "EXECUTION_COMPLETED"]
    );
    let text = format!("{:?}", journal(&store, "a").await);
    assert!(text.contains("two steps"), "the search finds nothing at all");
    assert!(!text.contains("canary") && !text.contains("4242"));
    let heard = notes.all();
    assert!(
        heard.contains(&"own: canary-".to_owned())
            && heard.contains(&"a/llm decide:plan:1: canary-".to_owned())
    );
    let report = workflow.replay(&id("a")).await.unwrap();
    assert_eq!((report.served_decisions, report.effect_calls, report.events), (1, 0, 3));
    assert_eq!((llm.runs(), *deciders.lock().unwrap(), notes.all().len()), (1, 1, heard.len()));
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

/// D8, T10: a cancel of the execution aborts a decider's call in mid-stream with the canceller's own error; what the
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

/// T13, T15: a flow that goes on after a failed decider takes the same way after a crash and on replay: the failure's
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
