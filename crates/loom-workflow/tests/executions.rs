//! Executions from start to end: attaching, resuming, cancelling, failing.

#[cfg(test)]
mod stage;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::{
    CallError, CancelKind, Clock, EffectRuntime, ErrorName, ExecutionCancelledError, FailureChannel,
    Principal, Refusal, TypedFailure, Violation,
};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::Event;
use loom_workflow::store::{EventStore, ExecutionStatus};
use loom_workflow::{Ctx, Flow, StartOptions, Workflow, WorkflowBuildError, WorkflowError, flow};
use serde_json::{Value, json};
use stage::*;
use tokio::sync::{Notify, Semaphore};

/// What a journal says of a call that a cancel aborted, whatever error the canceller gave.
#[cfg(test)]
const CANCELLED: (&str, Option<&str>) = ("ExecutionCancelledError", Some("cancel"));

#[cfg(test)]
fn two_steps() -> Flow {
    flow("ship", "1", |ctx: Ctx, order: Value| async move {
        let packed = ctx.run("pack", "pack", order).await?;
        ctx.run("send", "send", packed).await
    })
}

#[cfg(test)]
fn one(act: Act) -> (MemoryStore, Workflow) {
    let store = MemoryStore::new();
    let id = act.id;
    let run = flow("run", "1", move |ctx: Ctx, input: Value| async move { ctx.run("step", id, input).await });
    let workflow = workflow(&store, runtime([act]), [run]);
    (store, workflow)
}

/// T4: a flow runs to its end, and its journal says what was done in which order.
#[tokio::test]
async fn an_execution_records_its_steps_and_its_end() {
    let store = MemoryStore::new();
    let workflow = workflow(&store, runtime([Act::echo("pack"), Act::echo("send")]), [two_steps()]);
    let handle = workflow.start::<Value>("ship", &json!(7), as_id("a")).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap(), json!({"did": {"did": 7}}));
    let expected = ["EXECUTION_STARTED", "STEP_COMPLETED pack", "STEP_COMPLETED send", "EXECUTION_COMPLETED"];
    assert_eq!(kinds(&store, "a").await, expected);
    let print = journal(&store, "a").await[1].fingerprint.clone().unwrap();
    assert_eq!((&*print.effect, &*print.input_schema_hash, &*print.revision), ("pack", "-", "1"));
}

/// T4: a second start of the same request attaches to the one that runs, and both hear its one outcome.
#[tokio::test]
async fn a_start_of_the_same_request_attaches_to_the_running_one() {
    let gate = Arc::new(Semaphore::new(0));
    let act = Act::gated("act", Arc::clone(&gate));
    let (_store, workflow) = one(act.clone());
    let first = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
    let second = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
    gate.add_permits(1);
    let (first, second) = tokio::join!(first.wait_for_completion(), second.wait_for_completion());
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(act.runs(), 1);
}

/// T4: many starts at once, before the first is acknowledged, are one execution.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_that_race_are_one_execution() {
    let (store, workflow) = one(Act::echo("act"));
    let start = || {
        let workflow = workflow.clone();
        tokio::spawn(async move {
            let handle = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
            handle.wait_for_completion().await.unwrap()
        })
    };
    for outcome in futures::future::join_all((0..32).map(|_| start())).await {
        assert_eq!(outcome.unwrap(), json!({"did": 1}));
    }
    assert_eq!(kinds(&store, "a").await.len(), 3);
}

/// T4: a finished execution is served its recorded outcome, in the same process and after a restart; nothing runs again.
#[tokio::test]
async fn a_finished_execution_serves_its_recorded_outcome() {
    let act = Act::echo("act");
    let (store, first) = one(act.clone());
    for workflow in [first, one(act.clone()).1] {
        // The second workflow stands for another process: it shares the store alone.
        let workflow = if kinds_len(&store).await == 0 { workflow } else { reopened(&store, &act) };
        let handle = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
        assert_eq!(handle.wait_for_completion().await.unwrap(), json!({"did": 1}));
        assert!(!handle.cancel(), "an execution that is over was cancelled");
    }
    assert_eq!((act.runs(), kinds(&store, "a").await.len()), (1, 3));
}

#[cfg(test)]
async fn kinds_len(store: &MemoryStore) -> u64 {
    store.head(&id("a")).await.unwrap().map_or(0, |head| head.last_seq)
}

#[cfg(test)]
fn reopened(store: &MemoryStore, act: &Act) -> Workflow {
    let id = act.id;
    let run = flow("run", "1", move |ctx: Ctx, input: Value| async move { ctx.run("step", id, input).await });
    workflow(store, runtime([act.clone()]), [run])
}

/// T4: an id that exists with another flow or input is a conflict, running or finished.
#[tokio::test]
async fn an_id_with_another_request_is_a_conflict() {
    let gate = Arc::new(Semaphore::new(0));
    let store = MemoryStore::new();
    let flows = || {
        ["run", "other"].map(|name| {
            flow(name, "1", |ctx: Ctx, input: Value| async move { ctx.run("step", "act", input).await })
        })
    };
    let workflow = workflow(&store, runtime([Act::gated("act", Arc::clone(&gate))]), flows());
    let handle = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
    let conflicts = async |label: &str| {
        for (flow, input) in [("other", json!(1)), ("run", json!(2))] {
            let error = workflow.start::<Value>(flow, &input, as_id("a")).await.unwrap_err();
            assert_eq!(error.name(), ErrorName::ExecutionConflict, "{label} {flow}");
        }
    };
    conflicts("running").await;
    gate.add_permits(1);
    handle.wait_for_completion().await.unwrap();
    conflicts("finished").await;
    assert_eq!(kinds(&store, "a").await.len(), 3);
}

/// T4: what an earlier process left unfinished is resumed in a new epoch: recorded steps are served, the rest runs.
#[tokio::test]
async fn an_unfinished_execution_resumes_where_its_journal_ends() {
    let store = MemoryStore::new();
    let (pack, gate) = (Act::echo("pack"), Arc::new(Semaphore::new(0)));
    let send = Act::gated("send", Arc::clone(&gate));
    let open = || workflow(&store, runtime([pack.clone(), send.clone()]), [two_steps()]);
    let options = || as_id("a").principal(Principal::new("ada"));
    for (epoch, options) in [(1, options()), (2, as_id("a"))] {
        let workflow = open();
        let handle = workflow.start::<Value>("ship", &json!(7), options).await.unwrap();
        settle().await;
        assert_eq!(send.runs(), epoch, "the step that was running did not run again");
        drop(workflow);
        assert!(matches!(handle.wait_for_completion().await, Err(WorkflowError::Stopped)));
    }
    gate.add_permits(1);
    let second = open();
    let handle = second.start::<Value>("ship", &json!(7), as_id("a")).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap(), json!({"did": {"did": 7}}));
    assert_eq!(pack.runs(), 1, "a recorded step ran again");
    let Event::ExecutionStarted(started) = &journal(&store, "a").await[0].event else { panic!("no start") };
    assert_eq!(started.identity, Some(json!({"id": "ada"})));
    let head = store.head(&id("a")).await.unwrap().unwrap();
    assert_eq!((head.epoch, head.last_seq), (3, 4));
}

/// T4: the start is refused with a name before anything is recorded, and no input is repeated.
#[tokio::test]
async fn a_start_that_cannot_be_is_refused_and_records_nothing() {
    let store = MemoryStore::new();
    let typed = flow("typed", "1", |_: Ctx, n: u32| async move { Ok::<_, CallError>(n) });
    let workflow = workflow(&store, runtime([Act::echo("act")]), [typed]);
    for (flow, input) in [("nowhere", json!(1)), ("typed", json!("secret")), ("a/b", json!(1))] {
        let error = workflow.start::<Value>(flow, &input, as_id("a")).await.unwrap_err();
        assert_eq!(error.name(), ErrorName::InputInvalid);
        assert!(!error.to_string().contains("secret"));
    }
    assert!(store.head(&id("a")).await.unwrap().is_none());
}

#[test]
fn a_flow_is_registered_once_a_revision_under_ids() {
    let noop = |name: &str, revision: &str| {
        flow(name, revision, |_: Ctx, _: Value| async move { Ok::<_, CallError>(Value::Null) })
    };
    let build = |flows: Vec<Flow>| {
        let builder = Workflow::builder(runtime([Act::echo("act")]), Arc::new(MemoryStore::new()));
        flows.into_iter().fold(builder, loom_workflow::WorkflowBuilder::flow).build().map(|_| ())
    };
    assert!(build(vec![noop("a", "1"), noop("a", "2"), noop("b", "1")]).is_ok());
    let twice = build(vec![noop("a", "1"), noop("a", "1")]).unwrap_err();
    assert!(matches!(twice, WorkflowBuildError::Duplicate { .. }));
    assert!(matches!(build(vec![noop("a/b", "1")]), Err(WorkflowBuildError::Name(_))));
    assert!(matches!(build(vec![noop("a", "")]), Err(WorkflowBuildError::Revision { .. })));
}

/// T4, T11: every kind of failure crosses as itself, and reads back after a restart with the same name, rule, place,
/// channel and payload.
#[tokio::test]
async fn a_failure_reads_back_as_itself_after_a_restart() {
    let drift = TypedFailure::new(FailureChannel::SCHEMA_DRIFT, json!({"expected": "a", "actual": "b"}));
    let errors: Vec<CallError> = vec![
        drift.into(),
        TypedFailure::new(FailureChannel::new("nothing"), Value::Null).into(),
        Violation::safety("pii.card").at(7, 16).into(),
        Violation::quota("stream_token_budget").into(),
        Refusal::safety("deny.word").at(3, 4).into(),
        Refusal::quota("rate").into(),
        Refusal::new(ErrorName::EgressDenied, "host").into(),
        CallError::aborted(Arc::new(std::io::Error::other("mine"))),
        CallError::named(ErrorName::Provider, "the provider failed"),
        CallError::failed(std::io::Error::other("content that no journal keeps")),
    ];
    for error in errors.into_iter().chain(ErrorName::ALL.iter().map(|name| CallError::named(*name, "x"))) {
        let act = Act::fails("act", error.clone());
        let (store, workflow) = one(act.clone());
        let handle = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
        let live = handle.wait_for_completion().await.unwrap_err();
        let again = reopened(&store, &act).start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
        let read = again.wait_for_completion().await.unwrap_err();
        assert_eq!((live.name(), read.name()), (error.name(), error.name()));
        let (live, read) = (live.call().unwrap().clone(), read.call().unwrap().clone());
        assert_eq!(read.rule(), error.rule());
        assert_eq!(read.violation(), error.violation());
        assert_eq!(read.refusal().and_then(Refusal::span), error.refusal().and_then(Refusal::span));
        assert_eq!(read.typed_failure(), error.typed_failure());
        assert_eq!(live.typed_failure(), error.typed_failure());
        assert_eq!(read.is_refusal(), error.is_refusal(), "{}", error.name());
        let text = format!("{:?}", journal(&store, "a").await);
        assert!(!text.contains("content that no journal keeps"));
    }
}

/// T10: a cancel is recorded first and its consequences after it; its kind is `cancel`, live and read back.
#[tokio::test]
async fn a_cancel_is_recorded_before_what_follows_from_it() {
    let began = Arc::new(Notify::new());
    let act = Act::parks("act", Arc::clone(&began));
    let (store, workflow) = one(act.clone());
    let handle = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
    began.notified().await;
    assert!(handle.cancel());
    assert!(!handle.cancel(), "a second cancel counted");
    let error = handle.wait_for_completion().await.unwrap_err();
    let expected = ["EXECUTION_STARTED", "CANCEL_REQUESTED", "STEP_FAILED step", "EXECUTION_CANCELLED"];
    assert_eq!(kinds(&store, "a").await, expected);
    let again = reopened(&store, &act).start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
    for error in [error, again.wait_for_completion().await.unwrap_err()] {
        assert_eq!(error.name(), ErrorName::ExecutionCancelled);
        let reason = error.abort_reason().unwrap();
        let reason = reason.downcast_ref::<ExecutionCancelledError>().unwrap();
        assert_eq!(reason.kind, CancelKind::Cancel);
    }
    assert_eq!(act.runs(), 1);
}

/// T10: a caller's own error as the reason comes back as itself, from the execution and from the call it aborted.
#[tokio::test]
async fn a_cancellers_own_error_comes_back_as_itself() {
    let (began, seen) = (Arc::new(Notify::new()), Notes::default());
    let store = MemoryStore::new();
    let aborted = Arc::new(std::sync::Mutex::new(None));
    let run = flow("run", "1", {
        let aborted = Arc::clone(&aborted);
        move |ctx: Ctx, input: Value| {
            let aborted = Arc::clone(&aborted);
            async move {
                let error = ctx.run("step", "act", input).await.unwrap_err();
                *aborted.lock().unwrap() = error.abort_reason();
                // What is asked after a cancel does not start, and a flow cannot swallow one.
                assert!(ctx.run("cleanup", "act", json!(2)).await.unwrap_err().abort_reason().is_some());
                Ok(json!("swallowed"))
            }
        }
    });
    let act = Act::parks("act", Arc::clone(&began)).sink(seen);
    let workflow = workflow(&store, runtime([act.clone()]), [run]);
    let handle = workflow.start::<Value>("run", &json!(1), as_id("a")).await.unwrap();
    began.notified().await;
    let own: Arc<dyn std::error::Error + Send + Sync> =
        Arc::new(std::io::Error::other("the lights went out"));
    assert!(handle.cancel_with(Arc::clone(&own)));
    let error = handle.wait_for_completion().await.unwrap_err();
    assert!(Arc::ptr_eq(&own, &error.abort_reason().unwrap()));
    assert!(Arc::ptr_eq(&own, aborted.lock().unwrap().as_ref().unwrap()));
    assert_eq!(act.runs(), 1);
    let journal = journal(&store, "a").await;
    let Event::StepFailed(failed) = &journal[2].event else { panic!("no failed step") };
    assert_eq!((failed.failure.name.as_str(), failed.failure.kind.as_deref()), CANCELLED);
    assert!(!format!("{journal:?}").contains("lights"));
}

/// T10: a deadline ends an execution with kind `deadline`.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_an_execution_by_its_kind() {
    let (store, workflow) = one(Act::parks("act", Arc::new(Notify::new())));
    let options = as_id("a").deadline(Duration::from_secs(60));
    let handle = workflow.start::<Value>("run", &json!(1), options).await.unwrap();
    let error = handle.wait_for_completion().await.unwrap_err();
    let WorkflowError::Cancelled { kind, .. } = error else { panic!("expected a cancel, got {error:?}") };
    assert_eq!(kind, CancelKind::Deadline);
    let journal = journal(&store, "a").await;
    let Event::ExecutionStarted(started) = &journal[0].event else { panic!("no start") };
    assert_eq!(started.deadline_at_ms, Some(1_700_000_060_000));
    let head = store.head(&id("a")).await.unwrap().unwrap();
    assert_eq!(head.status, ExecutionStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_flow_that_will_not_end_is_dropped_after_the_grace() {
    let store = MemoryStore::new();
    let stubborn =
        flow("stubborn", "1", |_: Ctx, _: Value| std::future::pending::<Result<Value, CallError>>());
    let workflow = workflow(&store, runtime([Act::echo("act")]), [stubborn]);
    let handle = workflow.start::<Value>("stubborn", &json!(1), as_id("a")).await.unwrap();
    handle.cancel();
    assert_eq!(handle.wait_for_completion().await.unwrap_err().name(), ErrorName::ExecutionCancelled);
    let expected = ["EXECUTION_STARTED", "CANCEL_REQUESTED", "EXECUTION_CANCELLED"];
    assert_eq!(kinds(&store, "a").await, expected);
}

/// T11: a panic of a flow, a decider or an effect fails its execution by name, and no other.
#[tokio::test]
async fn a_panic_fails_its_execution_alone() {
    let store = MemoryStore::new();
    let boom = Act::new("boom", |_, _| Box::pin(async { panic!("out of an effect") }));
    let flows = [
        flow("flow", "1", |_: Ctx, n: u32| async move {
            assert!(n > 9, "out of a flow");
            Ok::<_, CallError>(json!("fine"))
        }),
        flow("decider", "1", |ctx: Ctx, _: u32| async move {
            ctx.decide("d", async |_| -> Result<Value, CallError> { panic!("out of a decider") }).await
        }),
        flow("effect", "1", |ctx: Ctx, n: u32| async move { ctx.run("s", "boom", json!(n)).await }),
    ];
    let workflow = workflow(&store, runtime([boom]), flows);
    for name in ["flow", "decider", "effect"] {
        let handle = workflow.start::<Value>(name, &1_u32, as_id(name)).await.unwrap();
        assert_eq!(handle.wait_for_completion().await.unwrap_err().name(), ErrorName::EffectPanicked);
        assert_eq!(kinds(&store, name).await.last().unwrap(), "EXECUTION_FAILED");
        assert_eq!(workflow.replay(&id(name)).await.unwrap().effect_calls, 0);
    }
    let handle = workflow.start::<Value>("flow", &10_u32, StartOptions::new()).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap(), json!("fine"));
}

/// A clock whose timers end at once when they are told to.
#[cfg(test)]
struct Bell(Arc<AtomicBool>);

#[cfg(test)]
impl Clock for Bell {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> Option<BoxFuture<'static, ()>> {
        let rung = Arc::clone(&self.0);
        Some(Box::pin(poll_fn(move |_| if rung.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending })))
    }
}

/// T10, T15: a deadline that passes while a resumed journal is still being served cancels the execution behind what
/// is recorded; the journal still fits its flow, now and on replay.
#[tokio::test]
async fn a_deadline_that_passes_while_a_resumed_journal_is_served_cancels_and_does_not_block() {
    let (store, bell, armed) =
        (MemoryStore::new(), Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let open = || {
        let (ring, armed) = (Arc::clone(&bell), Arc::clone(&armed));
        let emits = flow("emits", "1", move |ctx: Ctx, _: Value| {
            let (ring, armed) = (Arc::clone(&ring), Arc::clone(&armed));
            async move {
                let emitting = async {
                    ctx.run("one", "echo", json!(1)).await?;
                    ctx.emit("Seen", json!(1))?;
                    ring.fetch_or(armed.load(SeqCst), SeqCst);
                    Ok::<_, CallError>(())
                };
                let beside = async { ctx.run("two", "echo", json!(2)).await };
                let (emitting, beside) = futures::join!(emitting, beside);
                emitting.and(beside)?;
                ctx.run("three", "echo", json!(3)).await?;
                ctx.run("parked", "parks", json!(4)).await
            }
        });
        let runtime = EffectRuntime::builder().allow_all_calls().clock(Bell(Arc::clone(&bell)));
        let runtime = runtime.effect(Act::echo("echo")).effect(Act::parks("parks", Arc::default()));
        on(Arc::new(store.clone()), runtime.build().unwrap(), [emits])
    };
    let options = || as_id("a").deadline(Duration::from_secs(3600));
    let first = open();
    let _parked = first.start::<Value>("emits", &json!(0), options()).await.unwrap();
    settle().await;
    drop(first);
    settle().await;
    let recorded = [
        "EXECUTION_STARTED",
        "STEP_COMPLETED one",
        "STEP_COMPLETED two",
        "DOMAIN_EVENT",
        "STEP_COMPLETED three",
    ];
    assert_eq!(kinds(&store, "a").await, recorded);

    armed.store(true, SeqCst);
    let second = open();
    let handle = second.start::<Value>("emits", &json!(0), options()).await.unwrap();
    let outcome = handle.wait_for_completion().await;
    assert!(matches!(outcome, Err(WorkflowError::Cancelled { .. })), "{outcome:?}");
    let end = ["CANCEL_REQUESTED", "STEP_FAILED parked", "EXECUTION_CANCELLED"];
    assert_eq!(kinds(&store, "a").await, [&recorded[..], &end].concat());
    assert_eq!(second.replay(&id("a")).await.unwrap().effect_calls, 0);
}
