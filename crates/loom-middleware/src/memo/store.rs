//! What the calls of one memo share, behind one lock that nobody holds while anything runs, waits or is dropped.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loom_effect_runtime::{Kept, MemoKey};

use super::flight::{Boarding, FlightId, Flights, Follower, Lead};
use super::hash::Hashing;
use super::policy::{Age, FLIGHTS_DEFAULT, FOLLOWERS_DEFAULT, Ttl};
use super::state::Table;

/// The shared part of a memo.
pub(super) struct Store {
    hashing: Hashing,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) flights: Flights,
    table: Table<MemoKey, Entry>,
    counts: Counts,
    /// How often each tool was forgotten, where it was, and how often all were.
    forgotten: HashMap<usize, u64>,
    cleared: u64,
}

struct Entry {
    tool: usize,
    since: Duration,
    kept: Kept,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) stale: u64,
    pub(super) waits: u64,
}

/// What one call asks for.
pub(super) struct Asked {
    tool: usize,
    ttl: Ttl,
    key: MemoKey,
    id: FlightId,
}

/// What a call does about it.
pub(super) enum Turn<'m> {
    /// Serves what was kept.
    Serve(Kept),
    /// Runs, or has it run.
    Run(Asked, Part<'m>),
}

/// A call's part in the run of its key.
pub(super) enum Part<'m> {
    /// Runs, and others wait for it.
    Lead(Lead),
    /// Waits for another that runs.
    Follow(Follower<'m>),
    /// Runs by itself.
    Alone,
}

impl Store {
    pub(super) fn new(capacity: usize) -> Self {
        let state = State {
            flights: Flights::new(FLIGHTS_DEFAULT, FOLLOWERS_DEFAULT),
            table: Table::new(capacity),
            counts: Counts::default(),
            forgotten: HashMap::new(),
            cleared: 0,
        };
        Self { hashing: Hashing::new(), state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out what a call does: its fresh output, or else its place in a flight.
    pub(super) fn ask<'m>(
        self: &'m Arc<Self>,
        tool: usize,
        ttl: Ttl,
        key: MemoKey,
        now: Duration,
    ) -> Turn<'m> {
        let hash = self.hashing.hash_one(&key);
        let mut state = self.state();
        let state = &mut *state;
        if let Some(kept) = state.kept(hash, &key, ttl, now, Age::Fresh) {
            state.counts.hits += 1;
            return Turn::Serve(kept);
        }
        let generation = state.generation(tool);
        let asked = Asked { tool, ttl, key, id: FlightId { hash, generation } };
        let part = match state.flights.board(asked.id, &asked.key) {
            Boarding::Waits(number, word) => {
                state.counts.waits += 1;
                Part::Follow(Follower::new(self, asked.id, number, word))
            }
            Boarding::Leads => {
                state.counts.misses += 1;
                Part::Lead(Lead::new(self, asked.id))
            }
            Boarding::Full => {
                state.counts.misses += 1;
                Part::Alone
            }
        };
        Turn::Run(asked, part)
    }

    /// Keeps what a run brought, unless its tool was forgotten since it was asked for.
    pub(super) fn keep(&self, asked: Asked, kept: &Kept, now: Duration) {
        if asked.ttl.judge(Duration::ZERO) == Age::Over {
            return;
        }
        let entry = Entry { tool: asked.tool, since: now, kept: kept.clone() };
        let mut state = self.state();
        let gone = if state.generation(asked.tool) == asked.id.generation {
            state.table.put(asked.id.hash, asked.key, entry)
        } else {
            None
        };
        drop(state);
        drop(gone);
    }

    /// What may stand in for a run that failed: a stale output, or a fresh one that another call has kept meanwhile.
    pub(super) fn instead(&self, asked: &Asked, now: Duration) -> Option<Kept> {
        let mut state = self.state();
        let kept = state.kept(asked.id.hash, &asked.key, asked.ttl, now, Age::Stale)?;
        state.counts.stale += 1;
        Some(kept)
    }

    pub(super) fn forget(&self, tool: usize) {
        let mut state = self.state();
        *state.forgotten.entry(tool).or_default() += 1;
        let gone = state.table.take_all(|entry| entry.tool == tool);
        drop(state);
        drop(gone);
    }

    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.cleared += 1;
        let gone = state.table.take_all(|_| true);
        drop(state);
        drop(gone);
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.state().table.capacity()
    }

    /// The counts, how many outputs are kept, and how many calls wait.
    pub(super) fn counts(&self) -> (Counts, usize, usize) {
        let state = self.state();
        (state.counts, state.table.len(), state.flights.waiting())
    }
}

impl State {
    fn generation(&self, tool: usize) -> u64 {
        self.cleared + self.forgotten.get(&tool).copied().unwrap_or_default()
    }

    /// The output that was kept for the call, where it is no worse than `worst`.
    fn kept(&mut self, hash: u64, key: &MemoKey, ttl: Ttl, now: Duration, worst: Age) -> Option<Kept> {
        let entry = self.table.find(hash, key)?;
        let age = ttl.judge(now.saturating_sub(entry.since));
        (age <= worst).then(|| entry.kept.clone())
    }
}
