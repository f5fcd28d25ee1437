//! What comes back: results of steps and deciders, cancels, and the flow's own end.

use loom_effect_runtime::{AbortReason, CallError, CancelKind, Usage};
use serde_json::Value;

use super::asks::history_full;
use super::slot::State;
use super::{Advance, Cancel, Engine, Entry, Given, Served};
use crate::error::Nondeterminism;
use crate::failure;
use crate::record::{
    CancelRequested, DecisionRecorded, DomainEvent, Draft, EffectDenied, Event, ExecutionCancelled,
    ExecutionCompleted, ExecutionFailed, StepCompleted, StepFailed, StepPath,
};

/// How a step went, as far as the journal cares.
#[derive(Debug)]
pub(crate) struct StepResult {
    pub(crate) events: Vec<(String, Value)>,
    pub(crate) denial: Option<EffectDenied>,
    pub(crate) given: Given,
    pub(crate) attempts: u32,
    pub(crate) usage: Option<Usage>,
}

/// How an execution ended.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Completed(Value),
    Failed(CallError),
    Cancelled(CancelKind, AbortReason),
}

impl Engine {
    /// A step ended: its events, its denial and its result are queued as one.
    pub(crate) fn complete_step(&mut self, path: &StepPath, result: StepResult, at_ms: u64) {
        let Some(slot) = self.slots.get_mut(path) else { return };
        if self.ended || !matches!(slot.state, State::Running) {
            return;
        }
        slot.state = State::Queued;
        let print = slot.command.fingerprint(&self.revision);
        let StepResult { events, denial, given, attempts, usage } = result;
        let event = match given {
            Ok(output) => {
                let mut event = StepCompleted::new(output, attempts);
                event.usage = usage.map(failure::usage_record);
                Event::from(event)
            }
            Err(error) => {
                let mut event = StepFailed::new(failure::record(&error, self.told()), attempts);
                event.usage = usage.map(failure::usage_record);
                Event::from(event)
            }
        };
        let events = events.into_iter().map(|(kind, payload)| Event::from(DomainEvent::new(kind, payload)));
        let drafts = events
            .chain(denial.map(Event::from))
            .chain([event])
            .map(|event| {
                let mut draft = Draft::new(at_ms, event).with_path(path.clone());
                draft.fingerprint.clone_from(&print);
                draft
            })
            .collect();
        match self.outbox.push(drafts) {
            Ok(seq) => self.tail.push_back(Entry::Step { path: path.clone(), seq, usage }),
            Err(_) => self.exhausted = true,
        }
    }

    /// A decider settled. Its value is recorded, its failure only if the flow goes on after it; after a cancel
    /// neither is.
    pub(crate) fn complete_decision(&mut self, path: &StepPath, given: Given, at_ms: u64) {
        let Some(slot) = self.slots.get_mut(path) else { return };
        if self.ended || !matches!(slot.state, State::Running) {
            return;
        }
        if matches!(self.cancel, Cancel::Delivered(_)) {
            return self.serve(path, Served::Cancelled);
        }
        slot.state = State::Queued;
        let super::Command::Decision(id) = &slot.command else { return };
        let queued = match given {
            Ok(value) => {
                let event = DecisionRecorded::new(id.clone(), value);
                let pushed = self.outbox.push(vec![Draft::new(at_ms, event).with_path(path.clone())]);
                pushed.map(|seq| Entry::Decision { path: path.clone(), seq })
            }
            Err(error) => {
                let event = StepFailed::new(failure::record(&error, None), 1);
                let held = self.outbox.hold(Draft::new(at_ms, event).with_path(path.clone()), false);
                held.map(|()| Entry::Failed { path: path.clone() })
            }
        };
        match queued {
            Ok(entry) => self.tail.push_back(entry),
            Err(_) => self.exhausted = true,
        }
    }

    /// Queues a cancel; the flow hears of it once it is acknowledged. Answers whether it is the first.
    ///
    /// While the journal is served none is taken: what the flow emitted would be queued again before it. Ask once live.
    pub(crate) fn request_cancel(&mut self, kind: CancelKind, at_ms: u64) -> bool {
        if self.ended || !self.live || self.cancel != Cancel::None {
            return false;
        }
        self.cancel = Cancel::Queued(kind);
        let seq = self.outbox.push_reserved(Draft::new(at_ms, CancelRequested::new(kind.into())));
        self.tail.push_back(Entry::Cancel { kind, seq });
        true
    }

    /// The flow is over and dropped. Queues the end and answers it, or what of the journal the flow did not reach.
    ///
    /// Once a cancel is queued there is one end only, whatever the flow made of it; `reason` says why.
    pub(crate) fn finish(
        &mut self,
        result: Given,
        reason: impl FnOnce(CancelKind) -> AbortReason,
        at_ms: u64,
    ) -> Result<Ending, Box<Nondeterminism>> {
        self.pass_over_rest()?;
        (self.ended, self.live) = (true, true);
        let result = if self.exhausted { Err(history_full()) } else { result };
        let ending = match (self.cancelled(), result) {
            (Some(kind), _) => Ending::Cancelled(kind, reason(kind)),
            (None, Ok(output)) => Ending::Completed(output),
            (None, Err(error)) => Ending::Failed(error),
        };
        if !matches!(ending, Ending::Completed(_)) {
            self.outbox.forget_failures();
        }
        if self.exhausted {
            self.outbox.forget_held();
        }
        let event = match &ending {
            Ending::Cancelled(kind, _) => Event::from(ExecutionCancelled::new((*kind).into())),
            Ending::Completed(output) => ExecutionCompleted::new(output.clone()).into(),
            Ending::Failed(error) => ExecutionFailed::new(failure::record(error, None)).into(),
        };
        self.outbox.push_reserved(Draft::new(at_ms, event));
        Ok(ending)
    }

    /// Passes over what the flow dropped before it ended; everything else it would have had to ask for.
    pub(super) fn pass_over_rest(&mut self) -> Result<(), Box<Nondeterminism>> {
        loop {
            match self.advance() {
                Advance::Resolved(_) | Advance::Cancelled(_) | Advance::Live => {}
                Advance::Mismatch(mismatch) => return Err(mismatch),
                Advance::Idle | Advance::Exhausted | Advance::Ended(_) => return Ok(()),
            }
        }
    }

    /// How the flow was told to end, once it was.
    fn told(&self) -> Option<CancelKind> {
        match self.cancel {
            Cancel::Delivered(kind) => Some(kind),
            _ => None,
        }
    }
}
