//! What every store must do, run on each of them by `store_conformance!`.
//!
//! It lies among the tests and other crates include it by path: behind a feature it would be public and would bring
//! panicking code into the library.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::join_all;
use loom_workflow::record::{
    DecisionRecorded, DomainEvent, Draft, Event, ExecutionCompleted, ExecutionId, ExecutionStarted,
    Fingerprint, FlowName, PAYLOAD_BYTES_MAX, StepCompleted, StepPath,
};
use loom_workflow::store::{
    APPEND_RECORDS_MAX, Append, EventStore, ExecutionStatus, Fence, Head, List, Read, Start, Started,
    StoreError,
};
use serde_json::{Value, json};

pub(crate) type Store = Arc<dyn EventStore>;

/// Runs every behaviour on the stores that `$open` makes: an async function to `(Store, guard)`.
#[macro_export]
macro_rules! store_conformance {
    ($open:path) => {
        /// T4: an id that exists attaches when flow and input are the same, else a typed conflict; never a second run.
        #[tokio::test]
        async fn a_start_creates_once_attaches_to_the_same_and_refuses_another() {
            let (store, _guard) = $open().await;
            store_conformance::starts(store).await;
        }

        /// T16: sequences are dense from 1 over appends and pages.
        #[tokio::test]
        async fn a_journal_reads_back_dense_and_in_pages() {
            let (store, _guard) = $open().await;
            store_conformance::pages(store).await;
        }

        /// T16: a stale worker's append is refused, by epoch and by sequence, and leaves nothing.
        #[tokio::test]
        async fn a_stale_writer_is_refused() {
            let (store, _guard) = $open().await;
            store_conformance::fences(store).await;
        }

        /// T16: of writers with one fence exactly one gets through.
        #[tokio::test]
        async fn one_of_many_writers_at_a_fence_wins() {
            let (store, _guard) = $open().await;
            store_conformance::races(store).await;
        }

        /// T16: a journal that has ended takes nothing more.
        #[tokio::test]
        async fn a_journal_that_ended_is_final() {
            let (store, _guard) = $open().await;
            store_conformance::ends(store).await;
        }

        /// T15: a blocked execution is seen, its log stays as it was, and it can be resumed.
        #[tokio::test]
        async fn a_block_leaves_the_journal_and_an_append_lifts_it() {
            let (store, _guard) = $open().await;
            store_conformance::blocks(store).await;
        }

        #[tokio::test]
        async fn executions_are_listed_the_newest_first_in_pages() {
            let (store, _guard) = $open().await;
            store_conformance::lists(store).await;
        }

        /// T16: an append that breaks a rule or a bound is refused whole.
        #[tokio::test]
        async fn what_breaks_a_bound_is_refused_and_leaves_nothing() {
            let (store, _guard) = $open().await;
            store_conformance::bounds(store).await;
        }

        /// T15: what replay serves is what was recorded, bit for bit.
        #[tokio::test]
        async fn values_come_back_bit_for_bit() {
            let (store, _guard) = $open().await;
            store_conformance::values(store).await;
        }

        /// T16: an append whose caller goes away happens wholly or not at all.
        #[tokio::test]
        async fn a_dropped_append_is_whole_or_absent() {
            let (store, _guard) = $open().await;
            store_conformance::drops(store).await;
        }
    };
}

pub(crate) fn id(text: &str) -> ExecutionId {
    ExecutionId::new(text).unwrap()
}

pub(crate) fn start(execution: &str, flow: &str, input: Value) -> Start {
    Start::new(id(execution), 1_000, ExecutionStarted::new(FlowName::new(flow).unwrap(), "r1".into(), input))
}

pub(crate) fn step(n: u64) -> Draft {
    Draft::new(2_000 + n, StepCompleted::new(json!(n), 1))
        .with_path(StepPath::new(format!("s#{n}")).unwrap())
        .with_fingerprint(Fingerprint::new("tool", "hash", "r1"))
}

pub(crate) fn append(head: &Head, drafts: Vec<Draft>) -> Append {
    Append::new(head.execution.clone(), head.fence(), drafts)
}

/// The head of a start, whether it made the execution or found it.
pub(crate) fn head_of(started: Started) -> Head {
    match started {
        Started::Created(head) | Started::Attached(head) => head,
    }
}

async fn begun(store: &Store, execution: &str) -> Head {
    head_of(store.start(start(execution, "flow", json!({"n": 1}))).await.unwrap())
}

async fn events(store: &Store, execution: &str) -> Vec<Event> {
    let page = store.read(Read::from_start(id(execution))).await.unwrap();
    page.records.into_iter().map(|record| record.event).collect()
}

pub(crate) async fn starts(store: Store) {
    assert_eq!(store.head(&id("a")).await.unwrap(), None);
    let first = start("a", "flow", json!({"n": 1})).with_more(vec![step(1)]);
    let Started::Created(head) = store.start(first).await.unwrap() else { panic!("it was not created") };
    assert_eq!((head.epoch, head.last_seq, head.status), (1, 2, ExecutionStatus::Running));
    assert_eq!((head.flow.as_str(), head.started_at_ms, head.updated_at_ms), ("flow", 1_000, 2_001));
    let same = start("a", "flow", json!({"n": 1}));
    assert_eq!(store.start(same).await.unwrap(), Started::Attached(head.clone()));
    let other = store.start(start("a", "flow", json!({"n": 2}))).await.unwrap_err();
    assert_eq!(other, StoreError::Conflict { differs: "input" });
    assert_eq!(other.stable_name(), "ExecutionConflictError");
    let other = store.start(start("a", "other", json!({"n": 1}))).await.unwrap_err();
    assert_eq!(other, StoreError::Conflict { differs: "flow" });
    assert_eq!(store.head(&id("a")).await.unwrap(), Some(head));
    let racing = join_all((0..8).map(|_| store.start(start("b", "flow", json!(1))))).await;
    let created = racing.iter().filter(|started| matches!(started, Ok(Started::Created(_)))).count();
    assert_eq!((created, racing.iter().filter(|started| started.is_ok()).count()), (1, 8));
}

pub(crate) async fn pages(store: Store) {
    let mut head = begun(&store, "a").await;
    for n in 0..5 {
        head = store.append(append(&head, vec![step(2 * n), step(2 * n + 1)])).await.unwrap();
    }
    assert_eq!(head.last_seq, 11);
    let (mut next, mut seen) = (Some(1), Vec::new());
    while let Some(from) = next {
        let page = store.read(Read::from_seq(id("a"), from).with_limit(4)).await.unwrap();
        assert!(page.records.len() <= 4);
        seen.extend(page.records);
        next = page.next_seq;
    }
    assert_eq!(seen.iter().map(|record| record.seq).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
    let last = seen.last().unwrap();
    let draft = step(9);
    assert_eq!((last.at_ms, &last.event), (draft.at_ms, &draft.event));
    assert_eq!((&last.path, &last.fingerprint), (&draft.path, &draft.fingerprint));
    let past = store.read(Read::from_seq(id("a"), 12)).await.unwrap();
    assert_eq!((past.records.len(), past.next_seq), (0, None));
    let far = store.read(Read::from_seq(id("a"), u64::MAX)).await.unwrap();
    assert_eq!((far.records.len(), far.next_seq), (0, None));
    assert_eq!(store.read(Read::from_start(id("none"))).await, Err(StoreError::NotFound));
}

pub(crate) async fn fences(store: Store) {
    let old = begun(&store, "a").await;
    let new = store.take_over(&id("a")).await.unwrap();
    assert_eq!((new.epoch, new.last_seq), (2, 1));
    let stale = store.append(append(&old, vec![step(1)])).await.unwrap_err();
    assert_eq!(stale, StoreError::Fenced { expected: Fence::new(1, 1), got: Fence::new(2, 1) });
    let newer = store.append(append(&new, vec![step(1)])).await.unwrap();
    for fence in [new.fence(), Fence::new(2, 3), Fence::new(3, 2), Fence::new(1, 2), Fence::new(0, 0)] {
        let refused = store.append(Append::new(id("a"), fence, vec![step(2)])).await.unwrap_err();
        assert_eq!(refused, StoreError::Fenced { expected: fence, got: Fence::new(2, 2) });
        assert!(matches!(store.block(&id("a"), fence).await, Err(StoreError::Fenced { .. })));
    }
    assert_eq!(store.head(&id("a")).await.unwrap(), Some(newer));
    assert_eq!(events(&store, "a").await.len(), 2);
    assert_eq!(store.take_over(&id("none")).await, Err(StoreError::NotFound));
    assert_eq!(
        store.append(Append::new(id("none"), Fence::new(1, 0), vec![step(1)])).await,
        Err(StoreError::NotFound)
    );
}

pub(crate) async fn races(store: Store) {
    let head = begun(&store, "a").await;
    let answers = join_all((0..16).map(|n| store.append(append(&head, vec![step(n), step(n)])))).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert!(answers.iter().all(|answer| matches!(answer, Ok(_) | Err(StoreError::Fenced { .. }))));
    assert_eq!(events(&store, "a").await.len(), 3);
    let epochs = join_all((0..8).map(|_| async { store.take_over(&id("a")).await.unwrap().epoch })).await;
    let mut sorted = epochs.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (2..=9).collect::<Vec<_>>());
}

pub(crate) async fn ends(store: Store) {
    let head = begun(&store, "a").await;
    let end = Draft::new(3_000, ExecutionCompleted::new(json!("done")));
    let malformed = store.append(append(&head, vec![end.clone(), step(1)])).await;
    assert!(matches!(malformed, Err(StoreError::Malformed { .. })));
    let head = store.append(append(&head, vec![step(1), end])).await.unwrap();
    assert_eq!(head.status, ExecutionStatus::Completed);
    let ended = StoreError::Ended { status: ExecutionStatus::Completed };
    assert_eq!(store.append(append(&head, vec![step(2)])).await, Err(ended.clone()));
    assert_eq!(store.take_over(&id("a")).await, Err(ended.clone()));
    assert_eq!(store.block(&id("a"), head.fence()).await, Err(ended));
    assert_eq!(begun(&store, "a").await, head);
}

pub(crate) async fn blocks(store: Store) {
    let head = begun(&store, "a").await;
    let before = store.read(Read::from_start(id("a"))).await.unwrap();
    let blocked = store.block(&id("a"), head.fence()).await.unwrap();
    assert_eq!((blocked.status, blocked.fence()), (ExecutionStatus::Blocked, head.fence()));
    assert_eq!(store.read(Read::from_start(id("a"))).await.unwrap(), before);
    let taken = store.take_over(&id("a")).await.unwrap();
    assert_eq!(taken.status, ExecutionStatus::Blocked);
    let resumed = store.append(append(&taken, vec![step(1)])).await.unwrap();
    assert_eq!(resumed.status, ExecutionStatus::Running);
}

pub(crate) async fn lists(store: Store) {
    assert_eq!(store.list(List::newest(10)).await.unwrap().heads, Vec::new());
    for n in 0..7 {
        begun(&store, &format!("e{n}")).await;
    }
    let (mut list, mut seen) = (List::newest(3), Vec::new());
    for _ in 0..3 {
        let page = store.list(list.clone()).await.unwrap();
        seen.extend(page.heads.iter().map(|head| head.execution.to_string()));
        let Some(next) = page.next else { break };
        list = List::newest(3).with_before(next);
    }
    assert_eq!(seen, ["e6", "e5", "e4", "e3", "e2", "e1", "e0"]);
}

pub(crate) async fn bounds(store: Store) {
    let head = begun(&store, "a").await;
    let decided = |value| Draft::new(1, DecisionRecorded::new("d".parse().unwrap(), value));
    let nested = |levels| (0..levels).fold(json!(1), |value, _| json!([value]));
    let large = json!("x".repeat(PAYLOAD_BYTES_MAX));
    assert!(matches!(
        store.append(append(&head, vec![decided(large)])).await,
        Err(StoreError::TooLarge { .. })
    ));
    let third = || decided(json!("x".repeat(PAYLOAD_BYTES_MAX * 3 / 4)));
    let three = store.append(append(&head, vec![third(), third(), third()])).await;
    assert!(matches!(three, Err(StoreError::TooLarge { what: "append", .. })));
    assert!(matches!(
        store.append(append(&head, vec![decided(nested(200))])).await,
        Err(StoreError::TooDeep { .. })
    ));
    let print = Fingerprint::new("x".repeat(2_000), "", "");
    let wide = step(1).with_fingerprint(print);
    assert!(matches!(store.append(append(&head, vec![wide])).await, Err(StoreError::TooLarge { .. })));
    let again = Draft::new(1, ExecutionStarted::new("f".parse().unwrap(), "r".into(), json!(1)));
    for drafts in [Vec::new(), vec![again], vec![step(1); APPEND_RECORDS_MAX + 1]] {
        assert!(matches!(store.append(append(&head, drafts)).await, Err(StoreError::Malformed { .. })));
    }
    assert_eq!(store.head(&id("a")).await.unwrap(), Some(head.clone()));
    let fits = decided(json!("x".repeat(PAYLOAD_BYTES_MAX * 5 / 8)));
    let head = store.append(append(&head, vec![fits.clone(), fits])).await.unwrap();
    let first = store.read(Read::from_start(id("a"))).await.unwrap();
    assert_eq!((first.records.len(), first.next_seq), (2, Some(3)), "a page ends at its bound in bytes");
    assert_eq!(store.read(Read::from_seq(id("a"), 3)).await.unwrap().records.len(), 1);
    store.append(append(&head, vec![step(1); APPEND_RECORDS_MAX])).await.unwrap();
}

pub(crate) async fn values(store: Store) {
    let nested = (0..128).fold(json!(0.1), |value, _| json!([value]));
    let values = [
        json!(null),
        json!({}),
        json!([]),
        json!(""),
        json!(0.1),
        json!(-0.0),
        json!(5e-324),
        json!(1.797_693_134_862_315_7e308),
        json!(2.225_073_858_507_201e-308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!("\u{0}\u{1f}\"\\\u{2028}é🧵"),
        json!({"": {"~/": [1, 1.0]}}),
        nested,
    ];
    let drafts = values
        .iter()
        .map(|value| Draft::new(u64::MAX, DomainEvent::new("n".into(), value.clone())))
        .collect();
    let head = begun(&store, "a").await;
    store.append(append(&head, drafts)).await.unwrap();
    let page = store.read(Read::from_seq(id("a"), 2)).await.unwrap();
    for (record, value) in page.records.iter().zip(&values) {
        let Event::DomainEvent(event) = &record.event else { panic!("another event") };
        assert_eq!(event.payload.to_string(), value.to_string());
        assert_eq!(record.at_ms, u64::MAX);
    }
    assert_eq!(page.records.len(), values.len());
}

pub(crate) async fn drops(store: Store) {
    let mut head = begun(&store, "a").await;
    for round in 0..10 {
        let polled_once = store.append(append(&head, vec![step(round), step(round)])).now_or_never();
        // A take-over queues behind it, so its answer says what became of it.
        let now = store.take_over(&id("a")).await.unwrap();
        let grown = now.last_seq - head.last_seq;
        assert!(grown == 2 || (grown == 0 && polled_once.is_none()), "{grown} of 2 records");
        head = now;
    }
    assert_eq!(events(&store, "a").await.len() as u64, head.last_seq);
}
