//! Calls of a memo that overlap: one runs, the others wait for what it brings.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code outside a test function"
)]

#[path = "live/held.rs"]
mod held;
#[path = "live/flights_model.rs"]
mod model;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loom_effect_runtime::{AbortError, EffectRuntime, ErrorName, Identity, Principal, Signal, around};
use loom_middleware::{FLIGHTS_DEFAULT, FOLLOWERS_DEFAULT, Memo, MemoCounts, Timeout, Ttl};
use loom_testing::VirtualClock;

use held::{Calling, Came, End, Held, settle};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Lab {
    held: Held,
    memo: Arc<Memo>,
    clock: VirtualClock,
    runtime: EffectRuntime,
}

impl Lab {
    fn new(ttl: impl Into<Ttl>) -> Self {
        Self::of(Memo::new(100).tool("held", ttl))
    }

    fn of(memo: Memo) -> Self {
        let (held, memo, clock) = (Held::default(), Arc::new(memo), VirtualClock::new());
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .clock(clock.clone())
            .around(Arc::clone(&memo))
            .effect(held.clone())
            .build()
            .unwrap();
        Self { held, memo, clock, runtime }
    }

    /// So many calls of one key, each begun before the next.
    fn calls<const N: usize>(&self, input: &str) -> [Calling; N] {
        std::array::from_fn(|_| {
            let mut call = Calling::new(&self.runtime, input, None);
            call.step();
            call
        })
    }

    fn waiting(&self) -> usize {
        self.memo.counts().waiting
    }
}

fn gave(output: &str, attempts: u32) -> Came {
    Ok((output.to_owned(), attempts))
}

/// T14: calls of one key that overlap run once, and all are served what that run brought, though nothing is kept.
#[test]
fn calls_that_overlap_run_once() {
    for ttl in [Duration::ZERO, DAY] {
        let lab = Lab::new(ttl);
        let mut calls = lab.calls::<5>("a");
        let run = lab.held.run();
        assert_eq!((lab.waiting(), run.input.as_str()), (4, "a"));
        run.gives("one");
        settle(&mut calls);
        let came = calls.each_ref().map(|call| call.came().unwrap().clone());
        assert_eq!(came, [1, 0, 0, 0, 0].map(|attempts| gave("one", attempts)));
        let MemoCounts { misses, waits, hits, waiting, kept, .. } = lab.memo.counts();
        assert_eq!((misses, waits, hits, waiting), (1, 4, 0, 0));
        assert_eq!(kept, usize::from(ttl == DAY));
    }
}

/// T14: calls of two keys do not wait for each other: not those of two inputs, nor of two identities.
#[test]
fn calls_of_two_keys_run_beside_each_other() {
    let lab = Lab::new(DAY);
    let _a = lab.calls::<1>("a");
    let _b = lab.calls::<1>("b");
    let caller = lab.runtime.caller(Identity::new(Principal::new("ada")));
    let tool = lab.runtime.tool::<String, String>("held").unwrap();
    let mut ada = std::pin::pin!(caller.invoke_transient(tool, "a".to_owned()).into_future());
    assert!(futures::FutureExt::now_or_never(ada.as_mut()).is_none());
    assert_eq!((lab.held.begun().len(), lab.waiting()), (3, 0));
}

/// T14: a failure is its own call's alone; the next that waits runs, in the order in which they came.
#[test]
fn a_failure_is_handed_to_nobody_and_the_next_runs() {
    for end in [End::Fails(ErrorName::Provider), End::Fails(ErrorName::QuotaExceeded), End::Panics] {
        let lab = Lab::new(DAY);
        let mut calls = lab.calls::<4>("a");
        for leader in 0..2 {
            lab.held.run().end(end.clone());
            settle(&mut calls);
            let ended: Vec<bool> = calls.iter().map(|call| call.came().is_some()).collect();
            assert_eq!(ended, [true, leader == 1, false, false]);
            assert!(calls[leader].came().unwrap().is_err());
        }
        lab.held.run().gives("third");
        settle(&mut calls);
        assert_eq!(calls[2].came().unwrap(), &gave("third", 1));
        assert_eq!(calls[3].came().unwrap(), &gave("third", 0));
    }
}

/// T14: a leader that is dropped hands over, also after all that waited before the next were dropped.
#[test]
fn a_leader_that_is_dropped_hands_over_to_the_next_that_waits() {
    let lab = Lab::new(DAY);
    let [leader, gone, next, mut last] = lab.calls::<4>("a");
    let run = lab.held.run();
    drop(gone);
    assert_eq!(lab.waiting(), 2);
    drop(leader);
    assert!(run.is_dropped());
    let mut calls = [next];
    settle(&mut calls);
    assert_eq!(lab.waiting(), 1);
    lab.held.run().gives("next");
    settle(calls.iter_mut().chain([&mut last]));
    assert_eq!(calls[0].came().unwrap(), &gave("next", 1));
    assert_eq!(last.came().unwrap(), &gave("next", 0));
}

/// T14: who was handed the lead and is dropped before it could run hands it on.
#[test]
fn a_lead_that_is_never_taken_up_goes_on() {
    let lab = Lab::new(DAY);
    let [leader, second, third, mut last] = lab.calls::<4>("a");
    let _dropped = lab.held.run();
    drop(leader);
    // Neither has been polled since it was told to lead.
    drop(second);
    drop(third);
    settle([&mut last]);
    lab.held.run().gives("last");
    settle([&mut last]);
    assert_eq!(last.came().unwrap(), &gave("last", 1));
    assert_eq!(lab.waiting(), 0);
}

/// T14: what a run brought reaches a call that is dropped before it reads it without harm to the others.
#[test]
fn a_follower_that_is_dropped_leaves_the_queue() {
    let lab = Lab::new(Duration::ZERO);
    let [leader, mut first, gone, mut last] = lab.calls::<4>("a");
    assert_eq!(lab.waiting(), 3);
    drop(gone);
    assert_eq!(lab.waiting(), 2);
    let mut leader = leader;
    lab.held.run().gives("one");
    settle([&mut leader]);
    drop(leader);
    settle([&mut first, &mut last]);
    assert_eq!((first.came(), last.came()), (Some(&gave("one", 0)), Some(&gave("one", 0))));
    let mut later = lab.calls::<1>("a");
    lab.held.run().gives("two");
    settle(&mut later);
    assert_eq!(later[0].came().unwrap(), &gave("two", 1));
}

/// D8, T14: an abort ends its own call alone, whether it leads or waits.
#[test]
fn an_abort_ends_its_own_call_alone() {
    let lab = Lab::new(DAY);
    let signals: [Signal; 4] = Default::default();
    let mut calls = signals.clone().map(|signal| {
        let mut call = Calling::new(&lab.runtime, "a", Some(signal));
        call.step();
        call
    });
    let run = lab.held.run();
    signals[1].abort_with(AbortError::new());
    settle(&mut calls);
    assert_eq!(calls[1].came().unwrap(), &Err(ErrorName::Abort));
    assert_eq!((lab.waiting(), run.is_dropped()), (2, false));
    signals[0].abort_with(AbortError::new());
    settle(&mut calls);
    assert_eq!(calls[0].came().unwrap(), &Err(ErrorName::Abort));
    assert!(run.is_dropped());
    lab.held.run().gives("third");
    settle(&mut calls);
    assert_eq!(calls[2].came().unwrap(), &gave("third", 1));
    assert_eq!(calls[3].came().unwrap(), &gave("third", 0));
}

/// T14: a panic that unwinds through the memo hands the lead over as well.
#[test]
fn a_panic_behind_the_memo_hands_over() {
    let (held, memo) = (Held::default(), Arc::new(Memo::new(9).tool("held", DAY)));
    let panics = Arc::new(AtomicBool::new(false));
    let does = Arc::clone(&panics);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Arc::clone(&memo))
        .around(around("panics", move |_, mut next| {
            let does = Arc::clone(&does);
            Box::pin(async move {
                let came = next.run().await;
                assert!(!does.swap(false, Ordering::SeqCst), "as it was told");
                came
            })
        }))
        .effect(held.clone())
        .build()
        .unwrap();
    let mut calls: [Calling; 2] = std::array::from_fn(|_| Calling::new(&runtime, "a", None));
    settle(&mut calls);
    panics.store(true, Ordering::SeqCst);
    held.run().gives("one");
    settle(&mut calls);
    assert!(calls[0].came().unwrap().is_err());
    held.run().gives("two");
    settle(&mut calls);
    assert_eq!(calls[1].came().unwrap(), &gave("two", 1));
    assert_eq!((memo.counts().waiting, memo.counts().kept), (0, 1));
}

/// T14: where a run fails and a stale output can stand in, all that wait are served it at once.
#[test]
fn a_stale_output_stands_in_for_all_that_wait() {
    let lab = Lab::new(Ttl::new(SECOND).stale(DAY));
    let mut first = lab.calls::<1>("a");
    lab.held.run().gives("old");
    settle(&mut first);
    lab.clock.advance(SECOND);
    let mut calls = lab.calls::<3>("a");
    lab.held.run().end(End::Fails(ErrorName::Provider));
    settle(&mut calls);
    let came = calls.each_ref().map(|call| call.came().unwrap().clone());
    assert_eq!(came, [gave("old", 1), gave("old", 0), gave("old", 0)]);
    assert_eq!((lab.held.begun().len(), lab.memo.counts().stale), (0, 1));
    let mut calls = lab.calls::<2>("a");
    lab.held.run().end(End::Fails(ErrorName::EgressDenied));
    settle(&mut calls);
    assert_eq!(
        calls[0].came().unwrap(),
        &Err(ErrorName::EgressDenied),
        "a refusal is stood in for by nothing"
    );
    assert_eq!(lab.held.begun().len(), 1);
}

/// T14: beyond its bounds a memo lets calls run by themselves; what they bring is kept all the same.
#[test]
fn a_call_beyond_the_bounds_runs_by_itself() {
    let lab = Lab::of(Memo::new(9).tool("held", DAY).flights_max(1).followers_max(1));
    let mut a = lab.calls::<3>("a");
    let mut b = lab.calls::<2>("b");
    let begun = lab.held.begun();
    let inputs: Vec<&str> = begun.iter().map(|run| run.input.as_str()).collect();
    assert_eq!((inputs, lab.waiting()), (vec!["a", "a", "b", "b"], 1));
    for (number, run) in begun.into_iter().enumerate() {
        run.gives(&number.to_string());
    }
    settle(a.iter_mut().chain(&mut b));
    let came: Vec<_> = a.iter().chain(&b).map(|call| call.came().unwrap().clone()).collect();
    assert_eq!(came, [gave("0", 1), gave("0", 0), gave("1", 1), gave("2", 1), gave("3", 1)]);
    assert_eq!((lab.memo.counts().misses, lab.memo.counts().kept), (4, 2));
    let mut kept = lab.calls::<1>("b");
    settle(&mut kept);
    assert_eq!(kept[0].came().unwrap(), &gave("3", 0));
}

/// T14: without followers each call runs by itself.
#[test]
fn without_followers_each_call_runs() {
    let lab = Lab::of(Memo::new(9).tool("held", DAY).followers_max(0));
    let _calls = lab.calls::<3>("a");
    assert_eq!((lab.held.begun().len(), lab.waiting()), (3, 0));
}

/// T14: the bounds that hold unless others are set.
#[test]
fn the_default_bounds_hold() {
    let lab = Lab::new(DAY);
    let calls: Vec<_> = (0..FOLLOWERS_DEFAULT + 3).map(|_| lab.calls::<1>("a")).collect();
    assert_eq!((lab.held.begun().len(), lab.waiting()), (3, FOLLOWERS_DEFAULT));
    drop(calls);
    let keys = 0..FLIGHTS_DEFAULT + 1;
    let twice: Vec<_> = keys.map(|key| lab.calls::<2>(&key.to_string())).collect();
    assert_eq!((lab.held.begun().len(), lab.waiting()), (FLIGHTS_DEFAULT + 2, FLIGHTS_DEFAULT));
    drop(twice);
    assert_eq!(lab.waiting(), 0);
}

/// T14: what was asked for before its tool is forgotten is served to who waits already, kept for nobody, and not waited for
/// by who comes later.
#[test]
fn a_run_that_began_before_it_is_forgotten_is_not_joined_and_not_kept() {
    let lab = Lab::new(DAY);
    let mut before = lab.calls::<2>("a");
    let old = lab.held.run();
    lab.memo.forget("held");
    let mut after = lab.calls::<2>("a");
    let new = lab.held.run();
    new.gives("new");
    settle(&mut after);
    old.gives("old");
    settle(&mut before);
    assert_eq!(before.each_ref().map(|call| call.came().unwrap().clone()), [gave("old", 1), gave("old", 0)]);
    assert_eq!(after.each_ref().map(|call| call.came().unwrap().clone()), [gave("new", 1), gave("new", 0)]);
    let mut kept = lab.calls::<1>("a");
    settle(&mut kept);
    assert_eq!(kept[0].came().unwrap(), &gave("new", 0));
}

/// T14: a timeout before the memo drops it with its lead, and the next that waits takes that up.
#[test]
fn a_timeout_before_the_memo_hands_over() {
    let (held, clock) = (Held::default(), VirtualClock::new());
    let memo = Arc::new(Memo::new(9).tool("held", Ttl::new(DAY).stale(DAY)));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .clock(clock.clone())
        .around(Timeout::after(2 * SECOND))
        .around(Arc::clone(&memo))
        .effect(held.clone())
        .build()
        .unwrap();
    let mut leader = Calling::new(&runtime, "a", None);
    settle([&mut leader]);
    clock.advance(SECOND);
    let mut next = Calling::new(&runtime, "a", None);
    settle([&mut next]);
    let late = held.run();
    clock.advance(SECOND);
    settle([&mut leader, &mut next]);
    assert_eq!(leader.came().unwrap(), &Err(ErrorName::DeadlineExceeded));
    assert!(late.is_dropped());
    held.run().gives("next");
    settle([&mut next]);
    assert_eq!(next.came().unwrap(), &gave("next", 1));
}
