//! The SQLite store against the rules of every store, and beside the memory store on random programs.

use std::sync::Arc;

use crate::scratch::Scratch;
use crate::store_conformance::{self, Store, append, head_of, id, start, step};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::{Draft, ExecutionCompleted, Record};
use loom_workflow::store::{Append, EventStore, Fence, Head, List, Read, StoreError};
use proptest::prelude::*;
use serde_json::json;

async fn open() -> (Store, Scratch) {
    let scratch = Scratch::new();
    (Arc::new(scratch.open().await), scratch)
}

crate::store_conformance!(open);

/// T16: what is read after a reopen is what was acknowledged before it, and the store takes it up there.
#[tokio::test]
async fn a_reopened_store_goes_on_where_it_was() {
    let scratch = Scratch::new();
    let store = scratch.open().await;
    let head = head_of(store.start(start("a", "flow", json!(1))).await.unwrap());
    let head = store.append(append(&head, vec![step(1)])).await.unwrap();
    let before = store.read(Read::from_start(id("a"))).await.unwrap();
    drop(store);
    assert!(!scratch.beside("-wal").exists(), "the last connection folds the log into the file");
    let store = scratch.open().await;
    assert_eq!(store.head(&id("a")).await.unwrap(), Some(head.clone()));
    assert_eq!(store.read(Read::from_start(id("a"))).await.unwrap(), before);
    store.append(append(&head, vec![step(2)])).await.unwrap();
}

/// T16: what waits in the queue of a store that is dropped is still written.
#[tokio::test]
async fn a_dropped_store_writes_what_was_handed_to_it() {
    let scratch = Scratch::new();
    let store = scratch.open().await;
    let head = head_of(store.start(start("a", "flow", json!(1))).await.unwrap());
    let polled_once = futures::FutureExt::now_or_never(store.append(append(&head, vec![step(1)])));
    drop(store);
    let stored = scratch.open().await.head(&id("a")).await.unwrap().unwrap();
    assert_eq!(stored.last_seq, 2, "handed over: {}", polled_once.is_none());
}

#[derive(Clone, Debug)]
enum Op {
    Start { execution: u8, flow: u8, input: u8, more: u8 },
    Append { execution: u8, epochs_back: u64, records_back: u64, drafts: u8, ends: bool },
    TakeOver { execution: u8 },
    Block { execution: u8, epochs_back: u64 },
    List { limit: usize },
}

fn op() -> impl Strategy<Value = Op> {
    let back = || prop_oneof![8 => Just(0_u64), 1 => 1_u64..3];
    prop_oneof![
        3 => (0_u8..3, 0_u8..2, 0_u8..2, 0_u8..3)
            .prop_map(|(execution, flow, input, more)| Op::Start { execution, flow, input, more }),
        8 => (0_u8..3, back(), back(), 0_u8..4, prop::bool::weighted(0.1)).prop_map(
            |(execution, epochs_back, records_back, drafts, ends)| {
                Op::Append { execution, epochs_back, records_back, drafts, ends }
            }
        ),
        2 => (0_u8..3).prop_map(|execution| Op::TakeOver { execution }),
        1 => (0_u8..3, back()).prop_map(|(execution, epochs_back)| Op::Block { execution, epochs_back }),
        1 => (1_usize..4).prop_map(|limit| Op::List { limit }),
    ]
}

type Outcome = Result<(Vec<Head>, bool), StoreError>;

async fn perform(store: &dyn EventStore, op: &Op, n: u64) -> Outcome {
    let name = |execution: u8| id(&format!("e{execution}"));
    let steps = |count: u8| (0..u64::from(count)).map(|at| step(n * 10 + at)).collect::<Vec<_>>();
    let fence = async |execution: u8, epochs_back: u64, records_back: u64| {
        let head = store.head(&name(execution)).await?.ok_or(StoreError::NotFound)?;
        Ok::<_, StoreError>(Fence::new(
            head.epoch.saturating_sub(epochs_back),
            head.last_seq.saturating_sub(records_back),
        ))
    };
    let one = |head| (vec![head], false);
    match *op {
        Op::Start { execution, flow, input, more } => {
            let request =
                start(name(execution).as_str(), &format!("f{flow}"), json!(input)).with_more(steps(more));
            let started = store.start(request).await?;
            let attached = matches!(started, loom_workflow::store::Started::Attached(_));
            Ok((vec![head_of(started)], attached))
        }
        Op::Append { execution, epochs_back, records_back, drafts, ends } => {
            let mut drafts = steps(drafts);
            drafts.extend(ends.then(|| Draft::new(n, ExecutionCompleted::new(json!(n)))));
            let fence = fence(execution, epochs_back, records_back).await?;
            store.append(Append::new(name(execution), fence, drafts)).await.map(one)
        }
        Op::TakeOver { execution } => store.take_over(&name(execution)).await.map(one),
        Op::Block { execution, epochs_back } => {
            let fence = fence(execution, epochs_back, 0).await?;
            store.block(&name(execution), fence).await.map(one)
        }
        Op::List { limit } => {
            let page = store.list(List::newest(limit)).await?;
            Ok((page.heads, page.next.is_some()))
        }
    }
}

async fn journal(store: &dyn EventStore, execution: u8) -> Result<Vec<Record>, StoreError> {
    Ok(store.read(Read::from_start(id(&format!("e{execution}")))).await?.records)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// T16: a random program gives the same answers and the same records on both stores.
    #[test]
    fn memory_and_sqlite_agree_on_any_program(program in prop::collection::vec(op(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (memory, (sqlite, _scratch)) = (MemoryStore::new(), open().await);
            for (op, n) in program.iter().zip(1..) {
                let (expected, got) = (perform(&memory, op, n).await, perform(&*sqlite, op, n).await);
                assert_eq!(expected, got, "at {op:?}");
            }
            for execution in 0..3 {
                assert_eq!(journal(&memory, execution).await, journal(&*sqlite, execution).await);
            }
        });
    }
}
