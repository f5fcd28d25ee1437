//! What a journal holds: typed events with a dense sequence, a step path, a fingerprint and a checksum.
//!
//! A store keeps [`RawRecord`]s and hands out [`Record`]s; the step between them checks the checksum, so
//! that damaged bytes are a typed [`RecordFault`] and never a value.

mod event;
mod id;
mod raw;

use std::sync::Arc;

pub use event::{
    CancelKind, CancelRequested, DecisionRecorded, DomainEvent, EVENT_SCHEMA_VERSION, EffectDenied, Event,
    EventKind, ExecutionCancelled, ExecutionCompleted, ExecutionFailed, ExecutionStarted, FailureRecord,
    FieldShape, SeverRecord, Shape, StepCompleted, StepFailed, StepStarted, UsageRecord,
};
pub use id::{DecisionId, ExecutionId, FlowName, ID_BYTES_MAX, IdError, PATH_LEVELS_MAX, StepId, StepPath};
pub use raw::{HEADER_TEXT_BYTES_MAX, PAYLOAD_BYTES_MAX, PAYLOAD_DEPTH_MAX, RawRecord, RecordFault};

/// What the code looked like when a step ran; replay compares it and blocks where it differs (T15).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fingerprint {
    /// The effect's tool id.
    pub effect: Arc<str>,
    /// The hash of the effect's input schema.
    pub input_schema_hash: Arc<str>,
    /// The flow's revision, pinned at start.
    pub revision: Arc<str>,
}

impl Fingerprint {
    /// Builds a fingerprint; each part is at most [`HEADER_TEXT_BYTES_MAX`] bytes, which encoding checks.
    pub fn new(
        effect: impl Into<Arc<str>>,
        input_schema_hash: impl Into<Arc<str>>,
        revision: impl Into<Arc<str>>,
    ) -> Self {
        Self { effect: effect.into(), input_schema_hash: input_schema_hash.into(), revision: revision.into() }
    }
}

/// One event on its way into a journal, before a store has given it a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Draft {
    /// Unix milliseconds as the writer's clock told them; never compared.
    pub at_ms: u64,
    /// The event.
    pub event: Event,
    /// Where in the flow it happened, for events of a step or a decision.
    pub path: Option<StepPath>,
    /// What the code looked like, for events that replay compares.
    pub fingerprint: Option<Fingerprint>,
}

impl Draft {
    /// An event of the execution as a whole.
    pub fn new(at_ms: u64, event: impl Into<Event>) -> Self {
        Self { at_ms, event: event.into(), path: None, fingerprint: None }
    }

    /// The same draft at a place in the flow.
    #[must_use]
    pub fn with_path(mut self, path: StepPath) -> Self {
        self.path = Some(path);
        self
    }

    /// The same draft with what the code looked like.
    #[must_use]
    pub fn with_fingerprint(mut self, fingerprint: Fingerprint) -> Self {
        self.fingerprint = Some(fingerprint);
        self
    }
}

/// One event as a journal holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// Its place in the execution: dense, from 1.
    pub seq: u64,
    /// Unix milliseconds as the writer's clock told them; never compared.
    pub at_ms: u64,
    /// The event.
    pub event: Event,
    /// Where in the flow it happened.
    pub path: Option<StepPath>,
    /// What the code looked like.
    pub fingerprint: Option<Fingerprint>,
    /// CRC-32C over all other fields as they are stored.
    pub crc32c: u32,
}
