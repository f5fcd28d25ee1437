//! What a store knows of an execution without reading its journal, and the rules for changing it.

use std::fmt;

use super::{Encoded, StoreError};
use crate::record::{EventKind, ExecutionId, FlowName};

/// The highest sequence a journal may reach.
pub const SEQ_MAX: u64 = (1 << 24) - 1;

/// The highest epoch an execution may reach: call ordinals are `(epoch - 1) * 2^32 + k` (T8).
pub const EPOCH_MAX: u64 = 1 << 31;

/// What a writer believes it continues: the epoch it drives in, and the last sequence it knows (T16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fence {
    /// The epoch, from 1; each take-over raises it.
    pub epoch: u64,
    /// The last sequence.
    pub last_seq: u64,
}

impl Fence {
    /// Builds a fence.
    pub const fn new(epoch: u64, last_seq: u64) -> Self {
        Self { epoch, last_seq }
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {} at sequence {}", self.epoch, self.last_seq)
    }
}

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExecutionStatus {
    /// It has not ended.
    Running,
    /// It has not ended, and its journal did not fit the code that last tried; mended code may resume it (T15).
    Blocked,
    /// Its flow returned.
    Completed,
    /// Its flow failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl ExecutionStatus {
    const ALL: [Self; 5] = [Self::Running, Self::Blocked, Self::Completed, Self::Failed, Self::Cancelled];

    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status with this stable text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether the execution is over.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    pub(super) const fn after(kind: EventKind) -> Self {
        match kind {
            EventKind::ExecutionCompleted => Self::Completed,
            EventKind::ExecutionFailed => Self::Failed,
            EventKind::ExecutionCancelled => Self::Cancelled,
            _ => Self::Running,
        }
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An execution as a store lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// Whose.
    pub execution: ExecutionId,
    /// What it runs.
    pub flow: FlowName,
    /// Where it stands.
    pub status: ExecutionStatus,
    /// The epoch, from 1; each take-over raises it.
    pub epoch: u64,
    /// The last sequence of its journal.
    pub last_seq: u64,
    /// The journal's size, as [`RawRecord::bytes`](crate::record::RawRecord::bytes) counts.
    pub bytes: u64,
    /// When its first record says it was written, in Unix milliseconds.
    pub started_at_ms: u64,
    /// When its last record says it was written, in Unix milliseconds.
    pub updated_at_ms: u64,
}

impl Head {
    /// The head of an execution that an encoded [`Start`](super::Start) creates; for writers of stores.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when the append is no start.
    pub fn begin(start: &Encoded) -> Result<Self, StoreError> {
        let started = start.started.as_ref().ok_or(StoreError::Malformed { what: "it is not a start" })?;
        Ok(Self {
            execution: start.execution.clone(),
            flow: started.flow.clone(),
            status: start.status,
            epoch: 1,
            last_seq: start.rows.len() as u64,
            bytes: start.bytes,
            started_at_ms: start.rows.first().map_or(0, |row| row.at_ms),
            updated_at_ms: start.rows.last().map_or(0, |row| row.at_ms),
        })
    }

    /// Puts stored columns together; for writers of stores.
    pub const fn from_columns(
        execution: ExecutionId,
        flow: FlowName,
        status: ExecutionStatus,
        fence: Fence,
        bytes: u64,
        at_ms: (u64, u64),
    ) -> Self {
        let Fence { epoch, last_seq } = fence;
        Self {
            execution,
            flow,
            status,
            epoch,
            last_seq,
            bytes,
            started_at_ms: at_ms.0,
            updated_at_ms: at_ms.1,
        }
    }

    /// The fence that the next append must hold.
    pub const fn fence(&self) -> Fence {
        Fence::new(self.epoch, self.last_seq)
    }

    /// The head after an append, if it may happen; for writers of stores.
    ///
    /// # Errors
    /// [`StoreError::Ended`] before [`StoreError::Fenced`]; [`StoreError::Malformed`] at [`SEQ_MAX`].
    pub fn admit(&self, append: &Encoded) -> Result<Self, StoreError> {
        self.held_by(append.fence)?;
        let last_seq = self.last_seq + append.rows.len() as u64;
        if last_seq > SEQ_MAX {
            return Err(StoreError::Malformed { what: "the journal is at its last sequence" });
        }
        Ok(Self {
            status: append.status,
            last_seq,
            bytes: self.bytes.saturating_add(append.bytes),
            updated_at_ms: append.rows.last().map_or(self.updated_at_ms, |row| row.at_ms),
            ..self.clone()
        })
    }

    /// The head after a take-over; for writers of stores.
    ///
    /// # Errors
    /// [`StoreError::Ended`]; [`StoreError::Malformed`] at [`EPOCH_MAX`].
    pub fn taken_over(&self) -> Result<Self, StoreError> {
        self.open()?;
        if self.epoch >= EPOCH_MAX {
            return Err(StoreError::Malformed { what: "the execution is at its last epoch" });
        }
        Ok(Self { epoch: self.epoch + 1, ..self.clone() })
    }

    /// The head after a block; for writers of stores.
    ///
    /// # Errors
    /// [`StoreError::Ended`] before [`StoreError::Fenced`].
    pub fn blocked(&self, fence: Fence) -> Result<Self, StoreError> {
        self.held_by(fence)?;
        Ok(Self { status: ExecutionStatus::Blocked, ..self.clone() })
    }

    fn held_by(&self, fence: Fence) -> Result<(), StoreError> {
        self.open()?;
        let got = self.fence();
        if got == fence { Ok(()) } else { Err(StoreError::Fenced { expected: fence, got }) }
    }

    const fn open(&self) -> Result<(), StoreError> {
        if self.status.is_terminal() { Err(StoreError::Ended { status: self.status }) } else { Ok(()) }
    }
}
