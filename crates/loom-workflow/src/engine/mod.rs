//! The engine: a pure state machine over one journal, and a thin driver that connects it to a store and a clock.
//!
//! [`Engine`] takes asks, completions, cancels and acknowledgements, and gives answers, drafts and what a flow may
//! see next. It reads no clock, rolls no dice, awaits nothing and walks no hash map, so a journal and a flow decide
//! alone what happens.
//!
//! One rule carries replay: **a flow sees results strictly in journal order, one at a time, and only when it waits**.
//! It holds live as on replay, so that code which joins or races steps takes the same way both times. A result may be
//! seen before it is acknowledged (what follows from it joins its append), but no effect and no decider starts before
//! everything the flow has seen is acknowledged, and neither is the outcome told.

mod asks;
mod completions;
mod cursor;
mod driver;
mod execution;
mod outbox;
mod slot;
mod weight;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use loom_effect_runtime::{CancelKind, ResourceTotals, Usage};
use serde_json::Value;

use asks::history_full;
pub(crate) use completions::{Ending, StepResult};
pub(crate) use cursor::Advance;
pub use driver::CANCEL_GRACE;
pub(crate) use driver::{Drive, Driver, FlowPoll, Stop};
pub(crate) use execution::{Execution, Place, Tools};
use outbox::Outbox;
pub(crate) use outbox::{GROUP_BYTES_MAX, GROUP_RECORDS_MAX};
pub(crate) use slot::{Command, Served, Turn};
pub(crate) use weight::fits;
use weight::weigh;

use crate::record::{Event, Record, StepId, StepPath};
use crate::store::Head;
use slot::Slot;

/// The most events of one journal; [`HISTORY_HEADROOM_EVENTS`] of them are kept for cancel and the end.
pub const HISTORY_EVENTS_MAX: u64 = 50_000;

/// The most bytes of one journal.
pub const HISTORY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The events that only a cancel and the end of an execution may use.
pub const HISTORY_HEADROOM_EVENTS: u64 = 16;

/// What was served and started in one drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) served_steps: u64,
    pub(crate) served_decisions: u64,
    /// Effects and deciders started.
    pub(crate) started: u64,
}

/// One execution's state.
#[derive(Debug)]
pub(crate) struct Engine {
    revision: Arc<str>,
    ordinals: BTreeMap<StepId, u32>,
    slots: BTreeMap<StepPath, Slot>,
    /// Counts asks, so that "what did the flow ask first" has an answer.
    asked: u64,
    /// Recorded before this drive and not seen by the flow yet.
    journal: VecDeque<Record>,
    /// The journal is used up: what the flow asks now starts.
    live: bool,
    /// Queued in this drive and not seen by the flow yet.
    tail: VecDeque<Entry>,
    outbox: Outbox,
    acked: u64,
    /// The sequence of the last result the flow has seen.
    seen: u64,
    cancel: Cancel,
    totals: ResourceTotals,
    tally: Tally,
    exhausted: bool,
    /// The end is queued, or nobody drives the execution any more.
    ended: bool,
    access: Access,
}

/// Whether a drive may start anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Drives,
    /// A replay: what is not recorded waits for ever.
    Reads,
}

/// A result queued in this drive, in journal order.
#[derive(Debug)]
enum Entry {
    Step {
        path: StepPath,
        seq: u64,
        usage: Option<Usage>,
    },
    Decision {
        path: StepPath,
        seq: u64,
    },
    /// A decider's failure: recorded only if the flow goes on after it.
    Failed {
        path: StepPath,
    },
    Cancel {
        kind: CancelKind,
        seq: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cancel {
    None,
    Queued(CancelKind),
    /// The flow has been told.
    Delivered(CancelKind),
}

impl Engine {
    /// An execution at `head`, with what its journal holds after the start.
    pub(crate) fn new(revision: Arc<str>, head: &Head, journal: VecDeque<Record>, access: Access) -> Self {
        let cancel = journal.iter().find_map(|record| match &record.event {
            Event::CancelRequested(request) => Some(Cancel::Queued(request.kind.into())),
            _ => None,
        });
        Self {
            revision,
            ordinals: BTreeMap::new(),
            slots: BTreeMap::new(),
            asked: 0,
            live: journal.is_empty(),
            journal,
            tail: VecDeque::new(),
            outbox: Outbox::new(head.last_seq, head.bytes),
            acked: head.last_seq,
            seen: 0,
            cancel: cancel.unwrap_or(Cancel::None),
            totals: ResourceTotals::default(),
            tally: Tally::default(),
            exhausted: false,
            ended: false,
            access,
        }
    }

    pub(crate) fn totals(&self) -> ResourceTotals {
        self.totals
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// How the flow was told to end, if it was.
    pub(crate) fn cancelled(&self) -> Option<CancelKind> {
        match self.cancel {
            Cancel::None => None,
            Cancel::Queued(kind) | Cancel::Delivered(kind) => Some(kind),
        }
    }

    /// Whether there is something for the driver to do.
    pub(crate) fn has_output(&self) -> bool {
        self.exhausted || (self.live && self.outbox.has_groups())
    }

    /// The next drafts to append, once the journal is used up; they stay queued until they are acknowledged.
    pub(crate) fn take(&mut self) -> Option<Vec<crate::record::Draft>> {
        if self.live { self.outbox.take() } else { None }
    }

    /// The store has taken everything up to `head`.
    pub(crate) fn acknowledge(&mut self, head: &Head) {
        self.acked = head.last_seq;
        self.outbox.acknowledge(head.bytes);
    }

    /// Nobody drives the execution any more: whoever still asks is told so.
    pub(crate) fn close(&mut self) {
        self.ended = true;
    }

    /// The recorded end, once everything before it was seen.
    pub(crate) fn terminal(&self) -> Option<Record> {
        self.journal.front().filter(|record| record.event.kind().is_terminal()).cloned()
    }

    fn charge(&mut self, usage: Option<Usage>) {
        self.totals.calls += 1;
        if let Some(usage) = usage {
            self.totals.usage = self.totals.usage.plus(usage);
        }
    }

    fn serve(&mut self, path: &StepPath, served: Served) {
        if let Some(slot) = self.slots.get_mut(path) {
            slot.state = slot::State::Settled(served);
        }
    }
}

/// What a decision returned, or a step gave.
pub(crate) type Given = Result<Value, loom_effect_runtime::CallError>;
