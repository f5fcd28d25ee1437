//! Crashes: whatever the store refuses and whenever, the execution goes on to the same end.

#[cfg(test)]
mod script;
#[cfg(test)]
mod stage;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt;
use loom_effect_runtime::{EffectMode, ErrorName};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::{Event, Record};
use loom_workflow::store::{EventStore, Read, StoreError};
use loom_workflow::{Replayed, WorkflowError};
use proptest::prelude::*;
use script::{Op, run, scripted};
use serde_json::{Value, json};
use stage::between::{Between, Write};
use stage::*;

/// A store that is closed from its n-th write on, before or after that write took effect, and never at once.
#[cfg(test)]
fn closing(store: &MemoryStore, writes: u32, after: bool) -> Arc<Between> {
    let left = Arc::new(AtomicU32::new(writes));
    Arc::new(Between::new(store, move |_| {
        let left = Arc::clone(&left);
        Box::pin(async move {
            tokio::task::yield_now().await;
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)) {
                Ok(2..) => Write::Happens,
                Ok(_) => Write::Crashes { after },
                Err(_) => Write::Crashes { after: false },
            }
        })
    }))
}

#[cfg(test)]
fn op() -> impl Strategy<Value = Op> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let leaf = prop_oneof![
        4 => (id.clone(), prop::sample::select(vec!["slow", "quick", "journaled"])).prop_map(|(id, tool)| run(id, tool)),
        1 => id.clone().prop_map(|id| Op::Decide(id.into())),
        1 => id.clone().prop_map(|id| Op::Fail(id.into())),
        1 => id.prop_map(|id| Op::Emit(id.into())),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(Op::Join),
            1 => (inner.clone(), inner).prop_map(|(one, other)| Op::Race(Box::new(one), Box::new(other))),
        ]
    })
}

#[cfg(test)]
fn races(script: &[Op]) -> bool {
    script.iter().any(|op| match op {
        Op::Race(..) => true,
        Op::Join(ops) => races(ops),
        _ => false,
    })
}

/// Effects that look whether their own step is recorded already.
#[cfg(test)]
fn acts(store: &MemoryStore) -> Vec<Act> {
    let act = |id: &'static str, yields: usize| {
        let store = store.clone();
        Act::new(id, move |input, cx| {
            let key = cx.idempotency_key().unwrap_or_default().to_owned();
            let journal =
                store.read(Read::from_start(stage::id("a"))).now_or_never().unwrap().unwrap().records;
            Box::pin(async move {
                assert!(!outcomes(&journal).contains(&key), "a recorded step ran again");
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
                Ok(json!({"did": input}))
            })
        })
    };
    vec![act("quick", 0), act("slow", 5), act("journaled", 2).mode(EffectMode::Journaled)]
}

/// The idempotency keys of steps that are recorded; each once, and each start of a journaled one once.
#[cfg(test)]
fn outcomes(journal: &[Record]) -> BTreeSet<String> {
    let done = |record: &&Record| {
        matches!(record.event, Event::StepCompleted(_) | Event::StepFailed(_) | Event::DecisionRecorded(_))
    };
    let started = |record: &&Record| matches!(record.event, Event::StepStarted(_));
    let key = |record: &Record| format!("a:{}", record.path.as_ref().unwrap());
    let starts: Vec<_> = journal.iter().filter(started).map(key).collect();
    assert_eq!(starts.iter().collect::<BTreeSet<_>>().len(), starts.len(), "a start is recorded twice");
    let keys: Vec<_> = journal.iter().filter(done).map(key).collect();
    let once: BTreeSet<_> = keys.iter().cloned().collect();
    assert_eq!(once.len(), keys.len(), "a step is recorded twice: {keys:?}");
    once
}

/// Drives a script over stores that close at the given writes, and at last over one that does not. Cancels it in the
/// first drive after so many turns of the scheduler, if it is told to.
#[cfg(test)]
async fn survive(
    script: &[Op],
    crashes: &[(u32, bool)],
    cancel: Option<usize>,
) -> (Result<Value, ErrorName>, MemoryStore) {
    let store = MemoryStore::new();
    let endings = crashes.iter().copied().chain([(u32::MAX, false)]);
    for (drive, (writes, after)) in endings.enumerate() {
        let workflow = on(closing(&store, writes, after), runtime(acts(&store)), [scripted(script.to_vec())]);
        let outcome = match workflow.start::<Value>("script", &json!(0), as_id("a")).await {
            Ok(handle) => {
                if let Some(turns) = cancel.filter(|_| drive == 0) {
                    for _ in 0..turns {
                        tokio::task::yield_now().await;
                    }
                    handle.cancel();
                }
                handle.wait_for_completion().await
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(output) => return (Ok(output), store),
            Err(WorkflowError::Store(StoreError::Closed)) => {}
            Err(error @ WorkflowError::Cancelled { .. }) => return (Err(error.name()), store),
            Err(error) => panic!("a crash became {error:?}"),
        }
    }
    panic!("it never ended")
}

/// What a replay of the execution comes to; it calls nothing.
#[cfg(test)]
async fn replayed(script: &[Op], store: &MemoryStore) -> Result<Value, ErrorName> {
    let again = workflow(store, runtime(acts(store)), [scripted(script.to_vec())]);
    let report = again.replay(&stage::id("a")).await.unwrap();
    assert_eq!(report.effect_calls, 0);
    let Replayed::Ended(outcome) = report.outcome else { panic!("replay sees no end") };
    outcome.map_err(|error| error.name())
}

#[cfg(test)]
fn block_on<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test)
}

#[cfg(test)]
fn crashes() -> impl Strategy<Value = Vec<(u32, bool)>> {
    prop::collection::vec((1_u32..8, any::<bool>()), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// T16: whatever write a crash falls on, before or after it took effect, and however often, the execution resumes
    /// to the same outcome; no step is recorded twice, and none runs again once it is recorded. Replay agrees (T15).
    #[test]
    fn a_crash_at_any_point_changes_nothing(
        script in prop::collection::vec(op(), 1..5),
        crashes in crashes(),
    ) {
        block_on(async {
            let (outcome, store) = survive(&script, &crashes, None).await;
            if !races(&script) {
                prop_assert_eq!(&outcome, &survive(&script, &[], None).await.0);
            }
            outcomes(&journal(&store, "a").await);
            prop_assert_eq!(replayed(&script, &store).await, outcome);
            Ok(())
        })?;
    }

    /// T10: a cancel at any moment, with crashes about it, ends an execution as cancelled or finds it over; replay
    /// agrees with its journal.
    #[test]
    fn a_cancel_at_any_moment_is_the_end_or_too_late(
        script in prop::collection::vec(op(), 1..5),
        crashes in crashes(),
        turns in 0_usize..40,
    ) {
        block_on(async {
            let (outcome, store) = survive(&script, &crashes, Some(turns)).await;
            let kinds = kinds(&store, "a").await;
            let last = kinds.last().unwrap().as_str();
            let asked = kinds.iter().any(|kind| kind == "CANCEL_REQUESTED");
            prop_assert_eq!(last, if asked { "EXECUTION_CANCELLED" } else { "EXECUTION_COMPLETED" });
            prop_assert_eq!(outcome.is_err(), asked);
            outcomes(&journal(&store, "a").await);
            prop_assert_eq!(replayed(&script, &store).await, outcome);
            Ok(())
        })?;
    }
}
