//! What the flow may see next: recorded results first, then those of this drive, in journal order.

use loom_effect_runtime::CancelKind;

use super::slot::{Slot, State};
use super::{Cancel, Command, Engine, Entry, Served};
use crate::error::Nondeterminism;
use crate::failure;
use crate::record::{Event, Record, StepPath};

/// What changed for a flow that waits.
#[derive(Debug)]
pub(crate) enum Advance {
    /// One result more is there to be taken.
    Resolved(StepPath),
    /// The flow is to end.
    Cancelled(CancelKind),
    /// The journal is used up: what was asked may start.
    Live,
    /// Nothing: the flow waits for what runs.
    Idle,
    /// The history's bound is met.
    Exhausted,
    /// The journal does not fit the flow.
    Mismatch(Box<Nondeterminism>),
    /// The journal ends here; on replay alone.
    Ended(Box<Record>),
}

impl Engine {
    /// Moves on by one result. To be called when the flow waits and nothing woke it.
    pub(crate) fn advance(&mut self) -> Advance {
        if self.exhausted {
            return Advance::Exhausted;
        }
        while let Some(record) = self.journal.pop_front() {
            if let Some(advance) = self.consume(record) {
                return advance;
            }
        }
        if !self.live {
            self.live = true;
            self.slots.retain(|_, slot| !matches!(slot.state, State::Gone));
            return Advance::Live;
        }
        self.next_queued()
    }

    /// Whether a decider is among what the flow waits for: a journal says of it nothing but its value.
    pub(crate) fn awaits_decision(&self) -> bool {
        self.pending().any(|slot| matches!(slot.command, Command::Decision(_)))
    }

    /// The mismatch of a flow that asks for something where the journal has `record`.
    pub(crate) fn mismatch(&self, record: &Record) -> Box<Nondeterminism> {
        let got = self.pending().min_by_key(|slot| slot.asked);
        let got = got.map_or_else(|| "nothing more".to_owned(), |slot| slot.command.to_string());
        self.differs(record, got)
    }

    fn pending(&self) -> impl Iterator<Item = &Slot> {
        self.slots.values().filter(|slot| matches!(slot.state, State::Asked(_)))
    }

    /// The mismatch of a flow that does something else than `record` says.
    pub(crate) fn differs(&self, record: &Record, got: String) -> Box<Nondeterminism> {
        let revision = self.revision.to_string();
        Box::new(Nondeterminism { seq: record.seq, expected: told(record), got, revision })
    }

    fn consume(&mut self, record: Record) -> Option<Advance> {
        match &record.event {
            Event::DomainEvent(_) if record.path.is_some() => None,
            Event::DomainEvent(event) => {
                let emitted = self.outbox.take_recorded(&event.name);
                (!emitted).then(|| Advance::Mismatch(self.mismatch(&record)))
            }
            Event::CancelRequested(request) => {
                let kind = request.kind.into();
                self.cancel = Cancel::Delivered(kind);
                self.seen = record.seq;
                Some(Advance::Cancelled(kind))
            }
            Event::ExecutionCompleted(_) | Event::ExecutionFailed(_) | Event::ExecutionCancelled(_) => {
                self.journal.push_front(record.clone());
                Some(Advance::Ended(Box::new(record)))
            }
            Event::ExecutionStarted(_) => Some(Advance::Mismatch(self.mismatch(&record))),
            Event::StepStarted(_)
            | Event::EffectDenied(_)
            | Event::StepCompleted(_)
            | Event::StepFailed(_)
            | Event::DecisionRecorded(_) => self.consume_at_path(record),
        }
    }

    fn consume_at_path(&mut self, record: Record) -> Option<Advance> {
        let asked = record.path.as_ref().and_then(|path| self.slots.get(path));
        let slot = match asked {
            Some(slot) if matches!(slot.state, State::Gone) => return None,
            Some(slot) if matches!(slot.state, State::Asked(_)) => slot,
            _ => return Some(Advance::Mismatch(self.mismatch(&record))),
        };
        if !slot.fits(&record, &self.revision) {
            let got = slot.command.to_string();
            return Some(Advance::Mismatch(self.differs(&record, got)));
        }
        self.seen = record.seq;
        let path = record.path?;
        let served = match record.event {
            Event::StepStarted(_) => {
                self.slots.get_mut(&path)?.started = true;
                return None;
            }
            Event::EffectDenied(denial) => {
                self.slots.get_mut(&path)?.denial = Some(denial);
                return None;
            }
            Event::StepCompleted(event) => {
                self.tally.served_steps += 1;
                self.charge(event.usage.as_ref().map(failure::usage));
                Served::Value(event.output)
            }
            Event::StepFailed(event) => {
                let slot = self.slots.get(&path)?;
                let error = failure::read(&event.failure, slot.denial.as_ref());
                if matches!(slot.command, Command::Decision(_)) {
                    self.tally.served_decisions += 1;
                } else {
                    self.tally.served_steps += 1;
                    self.charge(event.usage.as_ref().map(failure::usage));
                }
                Served::Failure(error)
            }
            Event::DecisionRecorded(event) => {
                self.tally.served_decisions += 1;
                Served::Value(event.value)
            }
            _ => return None,
        };
        self.serve(&path, served);
        Some(Advance::Resolved(path))
    }

    fn next_queued(&mut self) -> Advance {
        loop {
            if matches!(self.tail.front(), Some(Entry::Cancel { seq, .. }) if self.acked < *seq) {
                return Advance::Idle;
            }
            let path = match self.tail.pop_front() {
                None => return Advance::Idle,
                Some(Entry::Cancel { kind, seq }) => {
                    (self.cancel, self.seen) = (Cancel::Delivered(kind), seq);
                    return Advance::Cancelled(kind);
                }
                Some(Entry::Step { path, seq, usage }) => {
                    self.seen = seq;
                    self.charge(usage);
                    path
                }
                Some(Entry::Decision { path, seq }) => {
                    self.seen = seq;
                    path
                }
                Some(Entry::Failed { path }) => path,
            };
            if self.slots.get(&path).is_some_and(|slot| matches!(slot.state, State::Queued)) {
                self.serve(&path, Served::Own);
                return Advance::Resolved(path);
            }
            self.slots.remove(&path);
        }
    }
}

impl Slot {
    /// Whether a record is of what was asked here: kind, id, effect, input schema and revision.
    fn fits(&self, record: &Record, revision: &std::sync::Arc<str>) -> bool {
        match (&self.command, &record.event) {
            (Command::Decision(id), Event::DecisionRecorded(event)) => *id == event.decision,
            (Command::Decision(_), Event::StepFailed(_)) => record.fingerprint.is_none(),
            (Command::Step { .. }, Event::DecisionRecorded(_)) | (Command::Decision(_), _) => false,
            (Command::Step { .. }, _) => {
                record.fingerprint.is_some() && record.fingerprint == self.command.fingerprint(revision)
            }
        }
    }
}

/// What a record says was done: ids and kinds, no content.
fn told(record: &Record) -> String {
    let at = record.path.as_ref().map(|path| format!(" at `{path}`")).unwrap_or_default();
    match (&record.event, &record.fingerprint) {
        (Event::DecisionRecorded(event), _) => format!("decision `{}`{at}", event.decision),
        (Event::DomainEvent(event), _) => format!("event `{}`", event.name),
        (Event::StepFailed(_), None) => format!("a decision{at}"),
        (_, Some(print)) => {
            let (effect, schema) = (&print.effect, &print.input_schema_hash);
            format!("a step of effect `{effect}` (input schema {schema}){at}")
        }
        (event, None) => event.kind().to_string(),
    }
}
