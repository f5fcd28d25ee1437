//! The channel's latch under a model checker: the very file that the channel is built on, with shuttle's
//! synchronisation in the place of the standard library's. `LOOM_SHUTTLE_ITERATIONS` sets how many schedules a model
//! sees of each scheduler.

#![cfg(test)]

#[path = "../src/delta/gate.rs"]
mod gate;

/// What `gate.rs` finds under `crate::sync` here.
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};

    /// A number of the running model thread; never 0.
    pub(crate) fn thread_token() -> usize {
        usize::from(shuttle::current::me()) + 1
    }
}

use gate::{Cut, Gate, Refused};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;

/// How many schedules a model sees of each scheduler, unless the environment says otherwise.
const ITERATIONS_DEFAULT: usize = 1_500;
/// How many preemptions the priority scheduler places.
const PCT_DEPTH: usize = 3;

type Log = Vec<&'static str>;
type Latch = Gate<Log, &'static str>;

/// Runs a model under random schedules and under few, well-placed preemptions.
fn check(model: fn()) {
    let set = std::env::var("LOOM_SHUTTLE_ITERATIONS").ok().and_then(|text| text.parse().ok());
    let iterations = set.unwrap_or(ITERATIONS_DEFAULT);
    shuttle::check_random(model, iterations);
    shuttle::check_pct(model, iterations, PCT_DEPTH);
}

/// A fact that one thread has observed and no delivery may begin or go on after.
#[derive(Clone)]
struct Over(Arc<AtomicBool>);

impl Over {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    fn observe(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// One delivery: it may be preempted in its middle, and it is not over at its beginning nor at its end.
    fn deliver(&self, log: &mut Log, text: &'static str) {
        assert!(!self.0.load(Ordering::SeqCst), "a delivery began after the end was observable");
        log.push(text);
        thread::yield_now();
        assert!(!self.0.load(Ordering::SeqCst), "the end was observable during a delivery");
    }
}

/// Writes `times` pieces to a room from a thread of its own. It is never told that it is inside a delivery.
fn writer(
    gate: &Arc<Latch>,
    over: &Over,
    room: u32,
    text: &'static str,
    times: u32,
) -> thread::JoinHandle<()> {
    let (gate, over) = (Arc::clone(gate), over.clone());
    thread::spawn(move || {
        for _ in 0..times {
            let written = gate.write(room, |log, _| {
                over.deliver(log, text);
                Ok(())
            });
            assert_ne!(written, Err(Refused::Busy), "this thread was inside no delivery");
        }
    })
}

fn look(gate: &Latch) -> (Log, Option<&'static str>) {
    gate.with(|log, severed| (log.clone(), severed.copied())).unwrap()
}

/// D6: after close has returned, no delivery begins, and none is in flight.
#[test]
fn after_close_no_delivery_begins() {
    check(|| {
        let gate = Arc::new(Latch::open_at(1, Log::new()));
        let over = Over::new();
        let writers = [writer(&gate, &over, 1, "a", 2), writer(&gate, &over, 1, "b", 1)];
        gate.close(1);
        over.observe();
        assert_eq!(gate.write(1, |_, _| Ok(())), Err(Refused::Closed));
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

/// D6: two closers, of which each may rely on its own return; and closing again changes nothing.
#[test]
fn each_of_two_closers_may_rely_on_its_return() {
    check(|| {
        let gate = Arc::new(Latch::open_at(1, Log::new()));
        let over = Over::new();
        let writing = writer(&gate, &over, 1, "a", 3);
        let closing = {
            let (gate, over) = (Arc::clone(&gate), over.clone());
            thread::spawn(move || {
                gate.close(1);
                over.observe();
            })
        };
        gate.close(1);
        over.observe();
        let (before, _) = look(&gate);
        closing.join().unwrap();
        writing.join().unwrap();
        assert_eq!(look(&gate).0, before);
    });
}

/// D15: a write that severs is the last: two racing writers get the one violation that stands, a third delivers nothing
/// after it.
#[test]
fn a_sever_is_the_last_delivery_and_one_violation_stands() {
    check(|| {
        let gate = Arc::new(Latch::open_at(1, Log::new()));
        let over = Over::new();
        let severing = |rule: &'static str| {
            let (gate, over) = (Arc::clone(&gate), over.clone());
            thread::spawn(move || {
                let severed = gate.write(1, |_, _| {
                    thread::yield_now();
                    Err::<(), _>(rule)
                });
                over.observe();
                severed
            })
        };
        let severs = [severing("one"), severing("two")];
        let writing = writer(&gate, &over, 1, "a", 2);
        let answers = severs.map(|sever| sever.join().unwrap());
        writing.join().unwrap();
        let stands = look(&gate).1.unwrap();
        assert_eq!(answers, [Err(Refused::Severed(stands)), Err(Refused::Severed(stands))]);
        assert_eq!(gate.write(1, |_, _| Ok(())), Err(Refused::Severed(stands)));
    });
}

/// D16: late text of room 1 never lands in room 2, and a late sever or close of room 1 does not end room 2.
#[test]
fn late_text_of_room_one_never_lands_in_room_two() {
    check(|| {
        let gate = Arc::new(Latch::open_at(1, Log::new()));
        let over = Over::new();
        let late = writer(&gate, &over, 1, "late", 2);
        let ending = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                let _ = gate.write(1, |_, _| Err::<(), _>("late"));
                gate.close(1);
            })
        };
        gate.open(2, |log, _| {
            over.observe();
            log.clear();
            log.push("reset");
            thread::yield_now();
        });
        for _ in 0..2 {
            let written = gate.write(2, |log, _| {
                log.push("two");
                thread::yield_now();
                Ok(())
            });
            assert_eq!(written, Ok(()), "room 2 is open");
        }
        late.join().unwrap();
        ending.join().unwrap();
        assert_eq!(look(&gate), (vec!["reset", "two", "two"], None));
        assert_eq!(gate.write(1, |_, _| Ok(())), Err(Refused::Closed));
    });
}

/// D6: a thread inside a delivery is answered without waiting: its write and finish are refused; its close takes effect
/// before the next write of anybody, and the delivery itself sees it.
#[test]
fn a_reentrant_write_is_refused_and_a_reentrant_close_is_effective() {
    check(|| {
        let gate = Arc::new(Latch::open_at(1, Log::new()));
        let over = Over::new();
        let racing = writer(&gate, &over, 1, "b", 2);
        let inner = Arc::clone(&gate);
        let closes = over.clone();
        let written = gate.write(1, move |log, cut: &Cut<'_>| {
            log.push("a");
            assert_eq!(inner.write(1, |_, _| Ok(())), Err(Refused::Busy));
            assert_eq!(inner.finish(1, |_, _| Ok(())), Err(Refused::Busy));
            assert!(inner.with(|_, _| ()).is_none());
            inner.open(2, |_, _| panic!("a room cannot be opened from inside a delivery"));
            thread::yield_now();
            assert!(!cut.is_cut());
            inner.close(1);
            assert!(cut.is_cut(), "the delivery sees that it was ended");
            closes.observe();
            Ok(())
        });
        assert_eq!(written, Ok(()));
        assert_eq!(gate.write(1, |_, _| Ok(())), Err(Refused::Closed));
        racing.join().unwrap();
        gate.open(2, |_, cut| assert!(!cut.is_cut(), "the next room is not cut"));
        assert_eq!(gate.write(2, |_, cut| Ok(cut.is_cut())), Ok(false));
    });
}

/// D11: finish delivers the tail and ends the room under one lock: no delivery comes after the tail.
#[test]
fn nothing_is_delivered_behind_the_tail() {
    check(|| {
        let gate = Arc::new(Latch::open_at(1, Log::new()));
        let over = Over::new();
        let racing = writer(&gate, &over, 1, "a", 2);
        let finished = gate.finish(1, |log, _| {
            over.deliver(log, "tail");
            over.observe();
            Ok(log.len())
        });
        let length = finished.unwrap();
        racing.join().unwrap();
        let (log, _) = look(&gate);
        assert_eq!((log.len(), log.last()), (length, Some(&"tail")));
        assert_eq!(gate.write(1, |_, _| Ok(())), Err(Refused::Closed));
    });
}

/// D15: a tail that severs, severs: whoever writes behind it gets the same violation.
#[test]
fn a_tail_that_severs_severs() {
    check(|| {
        let gate = Arc::new(Latch::open_at(1, Log::new()));
        let over = Over::new();
        let racing = writer(&gate, &over, 1, "a", 2);
        let finished = gate.finish(1, |_, _| {
            over.observe();
            Err::<(), _>("tail")
        });
        racing.join().unwrap();
        assert_eq!(finished, Err(Refused::Severed("tail")));
        assert_eq!(gate.write(1, |_, _| Ok(())), Err(Refused::Severed("tail")));
    });
}
