//! Overlapping calls of a memo, in any order, against a plain model.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{EffectRuntime, ErrorName};
use loom_middleware::{Memo, MemoCounts};
use proptest::prelude::*;

use crate::held::{Calling, Came, End, Held, Run, settle};

const KEYS: [&str; 3] = ["a", "b", "c"];
const FLIGHTS_MAX: usize = 2;
const FOLLOWERS_MAX: usize = 2;

#[derive(Clone, Debug)]
enum Op {
    /// Calls with the key of that number.
    Call(usize),
    /// Drops one of the calls that have not ended.
    Cancel(usize),
    /// Ends one of the runs.
    End(usize, Ending),
    Forget,
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Gives,
    Fails(ErrorName),
    Panics,
}

fn op() -> impl Strategy<Value = Op> {
    let ending = prop_oneof![
        3 => Just(Ending::Gives),
        2 => Just(Ending::Fails(ErrorName::Provider)),
        1 => Just(Ending::Fails(ErrorName::QuotaExceeded)),
        1 => Just(Ending::Panics),
    ];
    prop_oneof![
        6 => (0..KEYS.len()).prop_map(Op::Call),
        2 => (0_usize..16).prop_map(Op::Cancel),
        4 => ((0_usize..16), ending).prop_map(|(run, ending)| Op::End(run, ending)),
        1 => Just(Op::Forget),
    ]
}

/// A flight is one run of a key that others wait for; which one, and since how often all was forgotten.
type FlightId = (usize, u64);

/// What the memo is to do, with calls and runs by their numbers.
#[derive(Default)]
struct Model {
    keeps: bool,
    forgotten: u64,
    kept: BTreeMap<usize, String>,
    flights: BTreeMap<FlightId, VecDeque<usize>>,
    /// The calls that run, in the order in which they began: the key and what they lead.
    runs: Vec<(usize, usize, Option<FlightId>)>,
    came: BTreeMap<usize, Came>,
    counts: MemoCounts,
    /// Where a call that waits waits, and since when one that runs has asked.
    asked: BTreeMap<usize, FlightId>,
}

impl Model {
    fn call(&mut self, call: usize, key: usize) {
        if let Some(kept) = self.kept.get(&key) {
            self.counts.hits += 1;
            self.came.insert(call, Ok((kept.clone(), 0)));
            return;
        }
        let id = (key, self.forgotten);
        self.asked.insert(call, id);
        let flying = self.flights.len();
        match self.flights.get_mut(&id) {
            Some(waiting) if waiting.len() < FOLLOWERS_MAX => {
                self.counts.waits += 1;
                waiting.push_back(call);
            }
            None if flying < FLIGHTS_MAX => {
                self.counts.misses += 1;
                self.flights.insert(id, VecDeque::new());
                self.runs.push((call, key, Some(id)));
            }
            _ => {
                self.counts.misses += 1;
                self.runs.push((call, key, None));
            }
        }
    }

    fn cancel(&mut self, call: usize) {
        self.asked.remove(&call);
        self.flights.values_mut().for_each(|waiting| waiting.retain(|other| *other != call));
        if let Some(at) = self.runs.iter().position(|(running, ..)| *running == call) {
            let (_, _, leads) = self.runs.remove(at);
            self.hand_over(leads);
        }
    }

    fn hand_over(&mut self, leads: Option<FlightId>) {
        let Some(id) = leads else { return };
        match self.flights.get_mut(&id).and_then(VecDeque::pop_front) {
            Some(next) => self.runs.push((next, id.0, Some(id))),
            None => {
                self.flights.remove(&id);
            }
        }
    }

    fn land(&mut self, leads: Option<FlightId>, output: &str) {
        for waiting in leads.and_then(|id| self.flights.remove(&id)).into_iter().flatten() {
            self.came.insert(waiting, Ok((output.to_owned(), 0)));
        }
    }

    fn end(&mut self, at: usize, ending: Ending, output: &str) {
        let (call, key, leads) = self.runs.remove(at);
        let name = match ending {
            Ending::Gives => {
                let (_, asked) = self.asked[&call];
                if self.keeps && asked == self.forgotten {
                    self.kept.insert(key, output.to_owned());
                }
                self.came.insert(call, Ok((output.to_owned(), 1)));
                self.land(leads, output);
                return;
            }
            Ending::Fails(name) => name,
            Ending::Panics => ErrorName::EffectPanicked,
        };
        match self.kept.get(&key).cloned() {
            // Another call has kept it meanwhile.
            Some(kept) if name != ErrorName::QuotaExceeded => {
                self.counts.stale += 1;
                self.came.insert(call, Ok((kept.clone(), 1)));
                self.land(leads, &kept);
            }
            _ => {
                self.came.insert(call, Err(name));
                self.hand_over(leads);
            }
        }
    }

    fn forget(&mut self) {
        self.forgotten += 1;
        self.kept.clear();
    }

    fn counts(&self) -> MemoCounts {
        let mut counts = self.counts;
        counts.kept = self.kept.len();
        counts.waiting = self.flights.values().map(VecDeque::len).sum();
        counts
    }
}

/// The memo itself.
struct Real {
    held: Held,
    memo: Arc<Memo>,
    runtime: EffectRuntime,
    calls: BTreeMap<usize, Calling>,
    runs: Vec<Run>,
}

impl Real {
    fn new(keeps: bool) -> Self {
        let ttl = if keeps { Duration::MAX } else { Duration::ZERO };
        let memo = Memo::new(100).tool("held", ttl).flights_max(FLIGHTS_MAX).followers_max(FOLLOWERS_MAX);
        let (held, memo) = (Held::default(), Arc::new(memo));
        let builder = EffectRuntime::builder().allow_all_calls().around(Arc::clone(&memo));
        let runtime = builder.effect(held.clone()).build().unwrap();
        Self { held, memo, runtime, calls: BTreeMap::new(), runs: Vec::new() }
    }

    fn call(&mut self, call: usize, key: usize) {
        self.calls.insert(call, Calling::new(&self.runtime, KEYS[key], None));
    }

    /// Lets everything go on that can, and takes up the runs that have begun and let go of those that were dropped.
    fn settle(&mut self) {
        settle(self.calls.values_mut());
        self.runs.retain(|run| !run.is_dropped());
        self.runs.extend(self.held.begun());
    }

    fn running(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.input.as_str()).collect()
    }

    fn came(&self) -> BTreeMap<usize, Came> {
        let came = |(call, calling): (&usize, &Calling)| Some((*call, calling.came()?.clone()));
        self.calls.iter().filter_map(came).collect()
    }
}

fn play(ops: Vec<Op>, keeps: bool) -> Result<(), TestCaseError> {
    let mut real = Real::new(keeps);
    let mut model = Model { keeps, ..Model::default() };
    for (number, op) in ops.into_iter().enumerate() {
        match op {
            Op::Call(key) => {
                real.call(number, key);
                model.call(number, key);
            }
            Op::Cancel(at) => {
                let open: Vec<usize> = real.calls.keys().copied().collect();
                let open: Vec<usize> =
                    open.into_iter().filter(|call| !model.came.contains_key(call)).collect();
                let Some(call) = open.get(at % open.len().max(1)) else { continue };
                real.calls.remove(call);
                model.cancel(*call);
            }
            Op::End(at, ending) => {
                let Some(at) = at.checked_rem(real.runs.len()) else { continue };
                let output = number.to_string();
                real.runs.remove(at).end(match ending {
                    Ending::Gives => End::Gives(output.clone()),
                    Ending::Fails(name) => End::Fails(name),
                    Ending::Panics => End::Panics,
                });
                model.end(at, ending, &output);
            }
            Op::Forget => {
                real.memo.forget("held");
                model.forget();
            }
        }
        real.settle();
        prop_assert_eq!(real.came(), model.came.clone());
        let running: Vec<&str> = model.runs.iter().map(|(_, key, _)| KEYS[*key]).collect();
        prop_assert_eq!(real.running(), running);
        prop_assert_eq!(real.memo.counts(), model.counts());
    }
    // Whatever is still under way is dropped, and then no flight is left: there is room for all that there may be.
    real.calls.clear();
    real.memo.clear();
    real.settle();
    prop_assert_eq!(real.memo.counts().waiting, 0);
    for (call, key) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        real.call(call, key);
    }
    real.settle();
    prop_assert_eq!(real.running(), ["a", "b"]);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// T14: whatever order calls come, are dropped, end, fail and panic in, each run is led once, nobody is handed another's
    /// failure, whoever can be served is, and no flight is left behind.
    #[test]
    fn any_interleaving_agrees_with_the_model(
        ops in proptest::collection::vec(op(), 0..60),
        keeps in any::<bool>(),
    ) {
        play(ops, keeps)?;
    }
}
