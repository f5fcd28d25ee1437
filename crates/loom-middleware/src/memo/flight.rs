//! Single-flight: one call of a key leads, the others wait for what it brings.
//!
//! The lead is a value. Whoever holds it runs; when it is dropped, in whatever way its holder ended, it is handed to the
//! next that waits, and so on until nobody does. It travels in the very message that says so: a message that is never
//! read drops it, and it goes on.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use loom_effect_runtime::{Kept, MemoKey};
use tokio::sync::oneshot;

use super::store::Store;

/// One run of one key, until the tool is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FlightId {
    pub(super) hash: u64,
    /// How often the tool had been forgotten when it began.
    pub(super) generation: u64,
}

/// What a follower is told.
pub(super) enum Word {
    /// The run brought this.
    Landed(Kept),
    /// The run brought nothing to share: it is the follower's turn to run.
    Lead(Lead),
}

/// Where a call's word goes.
type Waiter = oneshot::Sender<Word>;

/// How a call comes to a flight.
pub(super) enum Boarding {
    /// There was none: the call leads a new one.
    Leads,
    /// There is one, and the call waits under that number.
    Waits(u64, oneshot::Receiver<Word>),
    /// There is no room.
    Full,
}

/// The flights in the air: at most so many, each with at most so many calls that wait.
pub(super) struct Flights {
    pub(super) flights_max: usize,
    pub(super) followers_max: usize,
    open: HashMap<FlightId, Flight>,
    /// Tells the calls that wait apart.
    next: u64,
}

struct Flight {
    key: MemoKey,
    waiting: VecDeque<(u64, Waiter)>,
}

impl Flights {
    pub(super) fn new(flights_max: usize, followers_max: usize) -> Self {
        Self { flights_max, followers_max, open: HashMap::new(), next: 0 }
    }

    pub(super) fn board(&mut self, id: FlightId, key: &MemoKey) -> Boarding {
        let flying = self.open.len();
        match self.open.get_mut(&id) {
            Some(flight) if flight.key == *key && flight.waiting.len() < self.followers_max => {
                let (waiter, word) = oneshot::channel();
                self.next += 1;
                flight.waiting.push_back((self.next, waiter));
                Boarding::Waits(self.next, word)
            }
            None if flying < self.flights_max => {
                self.open.insert(id, Flight { key: key.clone(), waiting: VecDeque::new() });
                Boarding::Leads
            }
            _ => Boarding::Full,
        }
    }

    /// The next that waits; where nobody does the flight is over.
    pub(super) fn next(&mut self, id: FlightId) -> Option<Waiter> {
        let next = self.open.get_mut(&id)?.waiting.pop_front();
        if next.is_none() {
            self.open.remove(&id);
        }
        next.map(|(_, waiter)| waiter)
    }

    /// Ends a flight and gives all that wait.
    pub(super) fn end(&mut self, id: FlightId) -> VecDeque<(u64, Waiter)> {
        self.open.remove(&id).map_or_else(VecDeque::new, |flight| flight.waiting)
    }

    /// Takes a call that no longer waits out of the queue.
    pub(super) fn leave(&mut self, id: FlightId, number: u64) {
        if let Some(flight) = self.open.get_mut(&id) {
            flight.waiting.retain(|(waiting, _)| *waiting != number);
        }
    }

    /// How many calls wait.
    pub(super) fn waiting(&self) -> usize {
        self.open.values().map(|flight| flight.waiting.len()).sum()
    }
}

/// The lead of a flight. Dropped, it goes to the next that waits.
pub(super) struct Lead {
    store: Arc<Store>,
    id: FlightId,
    is_over: bool,
}

impl Lead {
    pub(super) fn new(store: &Arc<Store>, id: FlightId) -> Self {
        Self { store: Arc::clone(store), id, is_over: false }
    }

    /// Ends the flight: all that wait are given what it brought.
    pub(super) fn land(mut self, kept: &Kept) {
        self.is_over = true;
        let waiting = self.store.state().flights.end(self.id);
        for (_, waiter) in waiting {
            // Who has gone meanwhile needs nothing.
            let _ = waiter.send(Word::Landed(kept.clone()));
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        while let Some(waiter) = self.store.state().flights.next(self.id) {
            match waiter.send(Word::Lead(Self::new(&self.store, self.id))) {
                // It was gone: the lead that came back is not passed on by itself, but by the next turn of this loop.
                Err(Word::Lead(mut back)) => back.is_over = true,
                _ => return,
            }
        }
    }
}

/// A call that waits for a flight. Dropped, it is out of the queue.
pub(super) struct Follower<'m> {
    store: &'m Store,
    id: FlightId,
    number: u64,
    word: oneshot::Receiver<Word>,
}

impl<'m> Follower<'m> {
    pub(super) fn new(store: &'m Store, id: FlightId, number: u64, word: oneshot::Receiver<Word>) -> Self {
        Self { store, id, number, word }
    }

    /// Waits for its word; `None` where it will never come, as after a panic between taking it up and saying it.
    pub(super) async fn word(mut self) -> Option<Word> {
        (&mut self.word).await.ok()
    }
}

impl Drop for Follower<'_> {
    fn drop(&mut self) {
        self.store.state().flights.leave(self.id, self.number);
    }
}
