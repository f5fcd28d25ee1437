//! What a flow asks of the engine: a name, a turn, an event of its own, and that it no longer cares.

use std::sync::Arc;

use loom_effect_runtime::{AbortError, CallError, Refusal};
use serde_json::Value;

use super::slot::{Slot, State};
use super::{Access, Cancel, Command, Engine, Served, Turn, fits};
use crate::record::{DomainEvent, Draft, StepId, StepPath, StepStarted};

impl Engine {
    /// The path of the next use of `id`. Steps and decisions share one count, so a path is one or the other.
    pub(crate) fn name(&mut self, id: &StepId, command: Command) -> StepPath {
        let nth = self.ordinals.entry(id.clone()).or_insert(0);
        *nth = nth.saturating_add(1);
        let path = StepPath::root(id, *nth);
        self.slots.insert(path.clone(), Slot::new(command, u64::MAX));
        path
    }

    /// One poll of an ask.
    pub(crate) fn turn(&mut self, path: &StepPath, at_ms: u64) -> Turn {
        let Some(slot) = self.slots.get_mut(path) else { return Turn::Wait };
        if matches!(slot.state, State::Named) {
            self.asked += 1;
            slot.asked = self.asked;
            slot.state = State::Asked(None);
        }
        match &slot.state {
            State::Settled(_) => match self.slots.remove(path) {
                Some(Slot { state: State::Settled(served), .. }) => Turn::Served(served),
                _ => Turn::Wait,
            },
            State::Asked(barrier) if !self.ended => {
                let barrier = *barrier;
                self.start(path, barrier, at_ms)
            }
            _ if self.ended => self.too_late(path),
            _ => Turn::Wait,
        }
    }

    /// Nobody records anything any more.
    fn too_late(&mut self, path: &StepPath) -> Turn {
        self.slots.remove(path);
        Turn::Served(Served::Failure(CallError::aborted(Arc::new(AbortError::new()))))
    }

    /// Starts an ask once the journal is used up and everything that the flow has seen is acknowledged.
    fn start(&mut self, path: &StepPath, barrier: Option<u64>, at_ms: u64) -> Turn {
        if matches!(self.cancel, Cancel::Delivered(_)) && !self.is_recorded(path) {
            self.slots.remove(path);
            return Turn::Served(Served::Cancelled);
        }
        if !self.live || self.exhausted || self.access == Access::Reads {
            return Turn::Wait;
        }
        let Some(barrier) = barrier.or_else(|| self.barrier(path, at_ms)) else { return Turn::Wait };
        let Some(slot) = self.slots.get_mut(path) else { return Turn::Wait };
        if self.acked < barrier {
            slot.state = State::Asked(Some(barrier));
            return Turn::Wait;
        }
        slot.state = State::Running;
        self.tally.started += 1;
        Turn::Start(self.totals)
    }

    /// What has to be acknowledged first: a journaled effect's own STEP_STARTED, or what the flow has seen.
    fn barrier(&mut self, path: &StepPath, at_ms: u64) -> Option<u64> {
        let slot = self.slots.get(path)?;
        if let Command::Step { effect, journaled: true, .. } = &slot.command
            && !slot.started
        {
            let mut draft = Draft::new(at_ms, StepStarted::new(effect.to_string())).with_path(path.clone());
            draft.fingerprint = slot.command.fingerprint(&self.revision);
            let pushed = self.outbox.push(vec![draft]);
            self.exhausted |= pushed.is_err();
            return pushed.ok();
        }
        Some(if self.outbox.has_failure() { self.outbox.flush() } else { self.seen })
    }

    fn is_recorded(&self, path: &StepPath) -> bool {
        self.journal.iter().any(|record| record.path.as_ref() == Some(path))
    }

    /// Keeps an event of the flow until the next append.
    ///
    /// # Errors
    /// A quota refusal, when the payload or the history is too large; the execution fails with it.
    pub(crate) fn emit(&mut self, kind: &str, payload: Value, at_ms: u64) -> Result<(), CallError> {
        fits(&payload)?;
        if self.ended {
            return Ok(());
        }
        let draft = Draft::new(at_ms, DomainEvent::new(kind.to_owned(), payload));
        self.outbox.hold(draft, !self.live).map_err(|_| {
            self.exhausted = true;
            history_full()
        })
    }

    /// The flow dropped an ask.
    pub(crate) fn abandon(&mut self, path: &StepPath) {
        let live = self.live;
        if let Some(slot) = self.slots.get_mut(path) {
            match slot.state {
                State::Queued => slot.state = State::Gone,
                State::Named | State::Asked(_) | State::Running if !live => slot.state = State::Gone,
                _ => {
                    self.slots.remove(path);
                }
            }
        }
    }
}

/// The bound on a history, as the failure that ends the execution.
pub(super) fn history_full() -> CallError {
    CallError::from(Refusal::quota("history"))
}
