//! What a flow asked for at a path, and where that stands.

use std::fmt;
use std::sync::Arc;

use loom_effect_runtime::{CallError, ResourceTotals};
use serde_json::Value;

use crate::record::{DecisionId, EffectDenied, Fingerprint};

/// What a flow asks for.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Step { effect: Arc<str>, input_schema_hash: Arc<str>, journaled: bool },
    Decision(DecisionId),
}

/// What a flow is given for an ask.
#[derive(Debug)]
pub(crate) enum Served {
    /// The asker's own result, made in this drive and recorded.
    Own,
    /// A recorded value.
    Value(Value),
    /// A recorded failure.
    Failure(CallError),
    /// The execution was cancelled before the ask could start.
    Cancelled,
}

/// The answer to one poll of an ask.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Nothing yet.
    Wait,
    /// Start now.
    Start(ResourceTotals),
    Served(Served),
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) command: Command,
    pub(super) state: State,
    pub(super) asked: u64,
    /// A STEP_STARTED of it is recorded.
    pub(super) started: bool,
    pub(super) denial: Option<EffectDenied>,
}

#[derive(Debug)]
pub(super) enum State {
    /// Made, not polled.
    Named,
    /// Polled; starts when the store has acknowledged the sequence, known once the journal is used up.
    Asked(Option<u64>),
    Running,
    /// Its result is queued.
    Queued,
    /// The flow may take it.
    Settled(Served),
    /// Dropped before it was settled; a record of it is passed over.
    Gone,
}

impl Slot {
    pub(super) fn new(command: Command, asked: u64) -> Self {
        Self { command, state: State::Named, asked, started: false, denial: None }
    }
}

impl Command {
    /// What replay compares; a decision is told by its id alone.
    pub(super) fn fingerprint(&self, revision: &Arc<str>) -> Option<Fingerprint> {
        match self {
            Self::Decision(_) => None,
            Self::Step { effect, input_schema_hash, .. } => Some(Fingerprint::new(
                Arc::clone(effect),
                Arc::clone(input_schema_hash),
                Arc::clone(revision),
            )),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision(id) => write!(f, "decision `{id}`"),
            Self::Step { effect, input_schema_hash, .. } => {
                write!(f, "a step of effect `{effect}` (input schema {input_schema_hash})")
            }
        }
    }
}
