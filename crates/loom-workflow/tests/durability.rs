//! What is acknowledged before what: appends, effects, outcomes, and stale drivers.

#[cfg(test)]
mod stage;

use std::future::IntoFuture;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{CallError, EffectMode, ErrorName};
use loom_workflow::memory::MemoryStore;
use loom_workflow::store::{EventStore, StoreError};
use loom_workflow::{Ctx, Flow, Workflow, WorkflowError, flow};
use serde_json::{Value, json};
use stage::between::{Between, Write};
use stage::*;
use tokio::sync::Semaphore;

/// A store that writes down the size of each write, and lets it happen for a permit.
#[cfg(test)]
fn gated(store: &MemoryStore) -> (Arc<Between>, Arc<Semaphore>, Arc<Mutex<Vec<usize>>>) {
    let (gate, sizes) = (Arc::new(Semaphore::new(0)), Arc::<Mutex<Vec<usize>>>::default());
    let (open, note) = (Arc::clone(&gate), Arc::clone(&sizes));
    let between = Between::new(store, move |records| {
        note.lock().unwrap().push(records);
        let open = Arc::clone(&open);
        Box::pin(async move {
            if let Ok(permit) = open.acquire().await {
                permit.forget();
            }
            Write::Happens
        })
    });
    (Arc::new(between), gate, sizes)
}

#[cfg(test)]
fn chain(tools: &'static [&'static str]) -> Flow {
    flow("chain", "1", move |ctx: Ctx, _: Value| async move {
        for tool in tools {
            ctx.run("s", *tool, json!(1)).await?;
        }
        Ok::<_, CallError>(json!("done"))
    })
}

/// T16: no effect and no decider starts, and no outcome is told, before the store has acknowledged what the flow has
/// seen; what follows from a result shares its append.
#[tokio::test]
async fn nothing_starts_before_what_the_flow_has_seen_is_acknowledged() {
    let store = MemoryStore::new();
    let (between, gate, sizes) = gated(&store);
    let (one, two) = (Act::echo("one"), Act::echo("two").mode(EffectMode::Journaled));
    let workflow = on(between, runtime([one.clone(), two.clone()]), [chain(&["one", "two"])]);
    let starting = tokio::spawn({
        let workflow = workflow.clone();
        async move { workflow.start::<Value>("chain", &json!(0), as_id("a")).await.unwrap() }
    });
    settle().await;
    assert_eq!((one.runs(), starting.is_finished()), (0, false), "before the start was acknowledged");
    gate.add_permits(1);
    settle().await;
    assert_eq!((one.runs(), two.runs()), (1, 0), "before the first step was acknowledged");
    let handle = starting.await.unwrap();
    gate.add_permits(1);
    settle().await;
    assert_eq!(two.runs(), 1);
    let waiting = tokio::spawn(async move { handle.wait_for_completion().await.unwrap() });
    settle().await;
    assert!(!waiting.is_finished(), "before the end was acknowledged");
    gate.add_permits(1);
    assert_eq!(waiting.await.unwrap(), json!("done"));
    // The start; a result with the start of the journaled step after it; its result with the end.
    assert_eq!(*sizes.lock().unwrap(), [1, 2, 2]);
}

/// T16: what is not announced by a record of its own, a plain effect or a decider, waits for that acknowledgement too.
#[tokio::test]
async fn a_plain_effect_and_a_decider_start_only_after_what_the_flow_has_seen_is_acknowledged() {
    let store = MemoryStore::new();
    let (between, gate, sizes) = gated(&store);
    let (one, two, decided) = (Act::echo("one"), Act::echo("two"), Arc::new(Mutex::new(0)));
    let count = Arc::clone(&decided);
    let plain = flow("plain", "1", move |ctx: Ctx, _: Value| {
        let count = Arc::clone(&count);
        async move {
            ctx.run("s", "one", json!(1)).await?;
            ctx.run("s", "two", json!(2)).await?;
            let decider = async move |_| {
                *count.lock().unwrap() += 1;
                Ok::<_, CallError>(json!("done"))
            };
            ctx.decide("d", decider).await
        }
    });
    let workflow = on(between, runtime([one.clone(), two.clone()]), [plain]);
    let running = tokio::spawn(async move {
        workflow.start::<Value>("plain", &json!(0), as_id("a")).await.unwrap().wait_for_completion().await
    });
    let started = || (one.runs(), two.runs(), *decided.lock().unwrap());
    for expected in [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)] {
        settle().await;
        assert_eq!(started(), expected, "before what the flow has seen was acknowledged");
        gate.add_permits(1);
    }
    assert_eq!(running.await.unwrap().unwrap(), json!("done"));
    // The start, two results, and the decision with the end.
    assert_eq!(*sizes.lock().unwrap(), [1, 1, 1, 2]);
}

/// T10: a cancel is told to the flow's calls only once it is acknowledged.
#[tokio::test]
async fn a_cancel_is_acknowledged_before_it_is_told() {
    let store = MemoryStore::new();
    let (between, gate, _) = gated(&store);
    let told = Arc::new(Mutex::new(false));
    let keep = Arc::clone(&told);
    let wait = flow("wait", "1", move |ctx: Ctx, _: Value| {
        let keep = Arc::clone(&keep);
        async move {
            let result = ctx.run("s", "act", json!(1)).await;
            *keep.lock().unwrap() = result.is_err();
            result
        }
    });
    let never = Arc::new(Semaphore::new(0));
    let workflow = on(between, runtime([Act::gated("act", never)]), [wait]);
    gate.add_permits(1);
    let handle = workflow.start::<Value>("wait", &json!(0), as_id("a")).await.unwrap();
    handle.cancel();
    settle().await;
    assert_eq!(kinds(&store, "a").await, ["EXECUTION_STARTED"]);
    assert!(!*told.lock().unwrap());
    gate.add_permits(2);
    assert_eq!(handle.wait_for_completion().await.unwrap_err().name(), ErrorName::ExecutionCancelled);
    assert!(*told.lock().unwrap());
}

/// T16: a driver whose execution another one took over records nothing more.
#[tokio::test]
async fn a_stale_driver_records_nothing() {
    let (store, gate) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let act = Act::gated("act", Arc::clone(&gate));
    let open = || workflow(&store, runtime([act.clone()]), [chain(&["act"])]);
    let (old, new): (Workflow, Workflow) = (open(), open());
    let stale = old.start::<Value>("chain", &json!(0), as_id("a")).await.unwrap();
    settle().await;
    let fresh = new.start::<Value>("chain", &json!(0), as_id("a")).await.unwrap();
    settle().await;
    gate.add_permits(2);
    let error = stale.wait_for_completion().await.unwrap_err();
    assert!(matches!(error, WorkflowError::Store(StoreError::Fenced { .. } | StoreError::Ended { .. })));
    assert_eq!(fresh.wait_for_completion().await.unwrap(), json!("done"));
    assert_eq!(kinds(&store, "a").await, ["EXECUTION_STARTED", "STEP_COMPLETED s", "EXECUTION_COMPLETED"]);
    // Its place is free again: the outcome is there.
    let again = old.start::<Value>("chain", &json!(0), as_id("a")).await.unwrap();
    assert_eq!(again.wait_for_completion().await.unwrap(), json!("done"));
}

/// T4: a store that fails stops the execution with its error and its name; once it works again the execution goes on.
#[tokio::test]
async fn a_store_that_is_full_stops_an_execution_that_goes_on_later() {
    let (store, act) = (MemoryStore::with_bytes_max(500), Act::echo("act"));
    let small = on(Arc::new(store.clone()), runtime([act.clone()]), [chain(&["act", "act", "act", "act"])]);
    let handle = small.start::<Value>("chain", &json!(0), as_id("a")).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap_err().name(), ErrorName::StoreFull);
    let before = journal(&store, "a").await;
    let again = small.start::<Value>("chain", &json!(0), as_id("a")).await.unwrap();
    assert_eq!(again.wait_for_completion().await.unwrap_err().name(), ErrorName::StoreFull);
    assert_eq!(journal(&store, "a").await, before);
    assert_eq!(store.head(&id("a")).await.unwrap().unwrap().epoch, 2);
}

/// T10: what escapes from a flow is aborted when its execution is over; nothing waits for ever.
#[tokio::test]
async fn what_escapes_from_a_flow_is_aborted_at_its_end() {
    let store = MemoryStore::new();
    let kept: Arc<Mutex<Option<Ctx>>> = Arc::default();
    let (keep, running) = (Arc::clone(&kept), Arc::new(Mutex::new(None)));
    let left = Arc::clone(&running);
    let leak = flow("leak", "1", move |ctx: Ctx, _: Value| {
        let task = tokio::spawn(ctx.run("left", "act", json!(1)).into_future());
        *left.lock().unwrap() = Some(task);
        *keep.lock().unwrap() = Some(ctx.clone());
        async move {
            let later = async |_| {
                tokio::task::yield_now().await;
                Ok::<_, CallError>(json!("decided"))
            };
            ctx.decide("d", later).await
        }
    });
    let act = Act::parks("act", Arc::default());
    let workflow = workflow(&store, runtime([act.clone()]), [leak]);
    let handle = workflow.start::<Value>("leak", &json!(0), as_id("a")).await.unwrap();
    handle.wait_for_completion().await.unwrap();
    let task = running.lock().unwrap().take().unwrap();
    assert_eq!(task.await.unwrap().unwrap_err().name(), ErrorName::Abort);
    let ctx = kept.lock().unwrap().take().unwrap();
    assert_eq!(ctx.run("s", "act", json!(1)).await.unwrap_err().name(), ErrorName::Abort);
    assert_eq!(ctx.decide("d", async |_| Ok(json!(1))).await.unwrap_err().name(), ErrorName::Abort);
    assert_eq!((act.runs(), kinds(&store, "a").await.len()), (1, 3));
}
