//! Replay and the history that does not fit.

#[cfg(test)]
mod script;
#[cfg(test)]
mod stage;

use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{CallError, ErrorName, RetryAdvice};
use loom_workflow::memory::MemoryStore;
use loom_workflow::store::{EventStore, ExecutionStatus};
use loom_workflow::{Ctx, Flow, Nondeterminism, Replayed, Workflow, WorkflowError, flow};
use script::{Op, run, scripted};
use serde_json::{Value, json};
use stage::*;
use tokio::sync::Semaphore;

/// T15: replay serves every step and decision without a call, a write or a new epoch, and gives the same outcome.
#[tokio::test]
async fn replay_serves_everything_and_calls_nothing() {
    let store = MemoryStore::new();
    let script = vec![
        run("a", "x"),
        Op::Emit("E".into()),
        Op::Join(vec![run("b", "y"), Op::Decide("d".into()), run("b", "x")]),
        Op::Race(Box::new(run("r", "x")), Box::new(run("s", "y"))),
        Op::Fail("f".into()),
    ];
    let acts = [Act::echo("x"), Act::echo("y")];
    let workflow = workflow(&store, runtime(acts.clone()), [scripted(script)]);
    let handle = workflow.start::<Value>("script", &json!(0), as_id("a")).await.unwrap();
    let outcome = handle.wait_for_completion().await.unwrap();
    let (before, runs) = (journal(&store, "a").await, acts.clone().map(|act| act.runs()));
    let report = workflow.replay(&id("a")).await.unwrap();
    let Replayed::Ended(Ok(replayed)) = report.outcome else { panic!("no output") };
    assert_eq!(replayed, outcome);
    assert_eq!((report.served_steps, report.served_decisions, report.effect_calls), (4, 2, 0));
    assert_eq!(acts.map(|act| act.runs()), runs);
    assert_eq!(journal(&store, "a").await, before);
    assert_eq!(store.head(&id("a")).await.unwrap().unwrap().epoch, 1);
    assert_eq!(workflow.replay(&id("b")).await.unwrap_err().name(), ErrorName::Store);
}

/// T15: a flow that decides by what a failure says about trying again reads the same on replay.
#[tokio::test]
async fn the_advice_of_a_failure_is_replayed() {
    let delay = Duration::from_nanos(90_000_000_001);
    for advice in [None, Some(RetryAdvice::After(delay)), Some(RetryAdvice::Retry), Some(RetryAdvice::Never)]
    {
        let store = MemoryStore::new();
        let busy = Act::new("busy", move |_, _| {
            let error = CallError::named(ErrorName::Provider, "busy");
            let error = match advice {
                Some(advice) => error.with_advice(advice),
                None => error,
            };
            Box::pin(async move { Err(error) })
        });
        let run = flow("run", "1", |ctx: Ctx, input: Value| async move {
            let error = ctx.run::<_, _>("ask", "busy", input).await.unwrap_err();
            Ok(json!(format!("{:?}", error.retry_advice())))
        });
        let workflow = workflow(&store, runtime([busy]), [run]);
        let handle = workflow.start::<Value>("run", &json!(0), as_id("a")).await.unwrap();
        let live = handle.wait_for_completion().await.unwrap();
        assert_eq!(live, json!(format!("{advice:?}")));
        let Replayed::Ended(Ok(replayed)) = workflow.replay(&id("a")).await.unwrap().outcome else {
            panic!("no output")
        };
        assert_eq!(replayed, live);
    }
}

/// A history that ends while the step `hold` runs.
#[cfg(test)]
async fn recorded(store: &MemoryStore, gate: &Arc<Semaphore>) -> Vec<Act> {
    let acts = vec![
        Act::echo("x").schema(json!({"type": "string"})),
        Act::echo("y"),
        Act::gated("hold", Arc::clone(gate)),
    ];
    let first = workflow(store, runtime(acts.clone()), [scripted(known())]);
    first.start::<Value>("script", &json!(0), as_id("a")).await.unwrap();
    settle().await;
    drop(first);
    settle().await;
    acts
}

#[cfg(test)]
fn known() -> Vec<Op> {
    let (d, e) = (Op::Decide("d".into()), Op::Emit("E".into()));
    vec![run("a", "x"), run("b", "y"), d, e, run("c", "y"), run("hold", "hold")]
}

#[cfg(test)]
async fn blocked(store: &MemoryStore, acts: Vec<Act>, flow: Flow) -> Nondeterminism {
    let workflow = workflow(store, runtime(acts), [flow]);
    let error = match workflow.start::<Value>("script", &json!(0), as_id("a")).await {
        Ok(handle) => handle.wait_for_completion().await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.name(), ErrorName::Nondeterminism);
    let WorkflowError::Nondeterminism(mismatch) = error else { panic!("expected a mismatch, got {error:?}") };
    let Err(WorkflowError::Nondeterminism(replayed)) = workflow.replay(&id("a")).await else {
        panic!("replay did not see what a resume saw")
    };
    assert_eq!(replayed, mismatch);
    *mismatch
}

/// T15: a removed, added, renamed or reordered step, a changed effect, input schema, decide id, kind or event, and a
/// missing revision block with sequence, expected, got and revision; the journal stays as it was, and mended code
/// goes on.
#[tokio::test]
async fn a_history_that_does_not_fit_blocks_and_can_be_resumed() {
    let (store, gate) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let acts = recorded(&store, &gate).await;
    let before = journal(&store, "a").await;
    assert_eq!(before.len(), 6);
    let change = |change: fn(&mut Vec<Op>)| {
        let mut script = known();
        change(&mut script);
        script
    };
    type Change = fn(&mut Vec<Op>);
    let cases: [(&str, Change, u64, &str, &str); 10] = [
        ("removed", |s| drop(s.remove(0)), 2, "effect `x`", "effect `y`"),
        ("removed last", |s| drop(s.drain(4..)), 6, "at `c`", "nothing more"),
        ("added", |s| s.insert(1, run("new", "x")), 3, "at `b`", "effect `x`"),
        ("renamed", |s| s[1] = run("z", "y"), 3, "at `b`", "effect `y`"),
        ("reordered", |s| s.swap(0, 1), 2, "at `a`", "effect `y`"),
        ("effect", |s| s[1] = run("b", "x"), 3, "effect `y`", "effect `x`"),
        ("decide id", |s| s[2] = Op::Decide("other".into()), 4, "decision `d`", "decision `other`"),
        ("step for decision", |s| s[2] = run("d", "x"), 4, "decision `d`", "effect `x`"),
        ("decision for step", |s| s[0] = Op::Decide("a".into()), 2, "effect `x`", "decision `a`"),
        ("event", |s| s[3] = Op::Emit("F".into()), 5, "event `E`", "effect `y`"),
    ];
    for (case, with, seq, expected, got) in cases {
        let mismatch = blocked(&store, acts.clone(), scripted(change(with))).await;
        assert_eq!((mismatch.seq, mismatch.revision.as_str()), (seq, "1"), "{case}");
        assert!(mismatch.expected.contains(expected), "{case}: {mismatch}");
        assert!(mismatch.got.contains(got), "{case}: {mismatch}");
        assert_eq!(journal(&store, "a").await, before, "{case}: the journal changed");
        let head = store.head(&id("a")).await.unwrap().unwrap();
        assert_eq!(head.status, ExecutionStatus::Blocked, "{case}");
    }
    let mut schema = acts.clone();
    schema[0] = Act::echo("x").schema(json!({"type": "number"}));
    let mismatch = blocked(&store, schema, scripted(known())).await;
    assert_eq!(mismatch.seq, 2);
    assert_ne!(mismatch.expected, mismatch.got);
    let other = flow("script", "2", |_: Ctx, _: Value| async move { Ok::<_, CallError>(Value::Null) });
    let mismatch = blocked(&store, acts.clone(), other).await;
    assert_eq!((mismatch.seq, mismatch.revision.as_str()), (1, "1"));
    assert_eq!(journal(&store, "a").await, before);
    gate.add_permits(1);
    let mended = workflow(&store, runtime(acts), [scripted(known())]);
    let handle = mended.start::<Value>("script", &json!(0), as_id("a")).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap()[5], json!({"did": "hold"}));
    assert_eq!(journal(&store, "a").await[..6], before);
}

/// T15: an execution goes on at the revision that it was started at, beside a newer one.
#[tokio::test]
async fn an_execution_is_pinned_to_its_revision() {
    let (store, gate) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let acts = recorded(&store, &gate).await;
    gate.add_permits(1);
    let newer = flow("script", "2", |_: Ctx, _: Value| async move { Ok::<_, CallError>(json!("newer")) });
    let workflow = workflow(&store, runtime(acts), [scripted(known()), newer]);
    let old = workflow.start::<Value>("script", &json!(0), as_id("a")).await.unwrap();
    assert_eq!(old.wait_for_completion().await.unwrap()[0], json!({"did": "a"}));
    let new = workflow.start::<Value>("script", &json!(0), as_id("b")).await.unwrap();
    assert_eq!(new.wait_for_completion().await.unwrap(), json!("newer"));
}

/// T15: replay of a history that has not ended serves it to its last record, and runs nothing that follows.
#[tokio::test]
async fn replay_of_an_unfinished_history_stops_where_it_ends() {
    let (store, gate) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let acts = recorded(&store, &gate).await;
    let workflow = workflow(&store, runtime(acts.clone()), [scripted(known())]);
    let report = workflow.replay(&id("a")).await.unwrap();
    assert!(matches!(report.outcome, Replayed::Unfinished));
    assert_eq!((report.served_steps, report.served_decisions, report.effect_calls), (3, 1, 0));
    assert_eq!(acts[2].runs(), 1, "replay ran the step that was running");
    // A history that is nothing but its start, too.
    let (store, first) = (MemoryStore::new(), Act::gated("hold", Arc::clone(&gate)));
    let open = || self::workflow(&store, runtime([first.clone()]), [scripted(vec![run("a", "hold")])]);
    let running = open();
    running.start::<Value>("script", &json!(0), as_id("a")).await.unwrap();
    settle().await;
    for workflow in [running, open()] {
        let report = workflow.replay(&id("a")).await.unwrap();
        assert!(matches!(report.outcome, Replayed::Unfinished));
        assert_eq!((report.served_steps, report.effect_calls, first.runs()), (0, 0, 1));
    }
}

/// T15: replay of a finished history blocks code that asks for more, or ends otherwise.
#[tokio::test]
async fn replay_of_a_finished_history_sees_code_that_does_more() {
    let store = MemoryStore::new();
    let open = |script: Vec<Op>| -> Workflow {
        workflow(&store, runtime([Act::echo("x"), Act::echo("y")]), [scripted(script)])
    };
    let handle = open(vec![run("a", "x")]).start::<Value>("script", &json!(0), as_id("a")).await;
    drop(handle);
    settle().await;
    for (script, got) in [
        (vec![run("a", "x"), run("b", "y")], "effect `y`"),
        (vec![run("a", "x"), Op::Decide("d".into())], "decision `d`"),
        (vec![run("a", "x"), Op::Emit("E".into())], "another output"),
    ] {
        let error = open(script).replay(&id("a")).await.unwrap_err();
        let WorkflowError::Nondeterminism(mismatch) = error else { panic!("expected a mismatch") };
        assert_eq!((mismatch.seq, mismatch.expected.as_str()), (3, "EXECUTION_COMPLETED"));
        assert!(mismatch.got.contains(got), "{mismatch}");
    }
}
