//! What a writer asks a store to add, and its encoded form.

use super::{ExecutionStatus, Fence, Head, StoreError};
use crate::record::{Draft, Event, ExecutionId, ExecutionStarted, RawRecord};

/// The most records one append may hold.
pub const APPEND_RECORDS_MAX: usize = 1_000;

/// The most bytes one append may hold: two of the largest payloads, and room for what stands around them.
pub const APPEND_BYTES_MAX: usize = 33 * 1024 * 1024;

/// Records for an execution that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Append {
    /// Whose.
    pub execution: ExecutionId,
    /// What the writer continues.
    pub fence: Fence,
    /// The records: 1 to [`APPEND_RECORDS_MAX`], none of them a start, nothing after one that ends the execution.
    pub drafts: Vec<Draft>,
}

impl Append {
    /// Builds an append.
    pub const fn new(execution: ExecutionId, fence: Fence, drafts: Vec<Draft>) -> Self {
        Self { execution, fence, drafts }
    }

    /// Checks and encodes it; for writers of stores, in the caller's task rather than in the committer.
    ///
    /// # Errors
    /// [`StoreError::Malformed`], [`StoreError::TooLarge`] or [`StoreError::TooDeep`].
    pub fn encode(self) -> Result<Encoded, StoreError> {
        if self.drafts.iter().any(|draft| matches!(draft.event, Event::ExecutionStarted(_))) {
            return Err(StoreError::Malformed { what: "an execution starts only once" });
        }
        Encoded::new(self.execution, self.fence, None, &self.drafts)
    }
}

/// The first records of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Start {
    /// The id it shall have.
    pub execution: ExecutionId,
    /// Unix milliseconds as the writer's clock told them.
    pub at_ms: u64,
    /// What it runs.
    pub started: ExecutionStarted,
    /// Records that go in the same append, after the start.
    pub more: Vec<Draft>,
}

impl Start {
    /// A start with nothing after it.
    pub const fn new(execution: ExecutionId, at_ms: u64, started: ExecutionStarted) -> Self {
        Self { execution, at_ms, started, more: Vec::new() }
    }

    /// The same with more records in the same append.
    #[must_use]
    pub fn with_more(mut self, more: Vec<Draft>) -> Self {
        self.more = more;
        self
    }

    /// Checks and encodes it; for writers of stores.
    ///
    /// # Errors
    /// As [`Append::encode`].
    pub fn encode(self) -> Result<Encoded, StoreError> {
        if self.more.iter().any(|draft| matches!(draft.event, Event::ExecutionStarted(_))) {
            return Err(StoreError::Malformed { what: "an execution starts only once" });
        }
        let mut drafts = vec![Draft::new(self.at_ms, self.started.clone())];
        drafts.extend(self.more);
        Encoded::new(self.execution, Fence::new(1, 0), Some(self.started), &drafts)
    }
}

/// What a start found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// The execution is new: its records are stored.
    Created(Head),
    /// It exists with the same flow and input; nothing was stored.
    Attached(Head),
}

/// An append or a start, checked and ready to be stored behind its fence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoded {
    /// Whose.
    pub execution: ExecutionId,
    /// What the writer continues.
    pub fence: Fence,
    /// The stored records, dense from the fence's sequence.
    pub rows: Vec<RawRecord>,
    /// Where the execution stands after them.
    pub status: ExecutionStatus,
    /// Their size.
    pub bytes: u64,
    /// The start, where it is one.
    pub started: Option<ExecutionStarted>,
}

impl Encoded {
    fn new(
        execution: ExecutionId,
        fence: Fence,
        started: Option<ExecutionStarted>,
        drafts: &[Draft],
    ) -> Result<Self, StoreError> {
        let Some((last, before)) = drafts.split_last() else {
            return Err(StoreError::Malformed { what: "it holds no record" });
        };
        if drafts.len() > APPEND_RECORDS_MAX {
            return Err(StoreError::Malformed { what: "it holds more records than one append may" });
        }
        if before.iter().any(|draft| draft.event.kind().is_terminal()) {
            return Err(StoreError::Malformed { what: "a record follows the one that ends the execution" });
        }
        let status = ExecutionStatus::after(last.event.kind());
        let (mut rows, mut bytes) = (Vec::with_capacity(drafts.len()), 0_u64);
        for (seq, draft) in (fence.last_seq.saturating_add(1)..).zip(drafts) {
            let row = RawRecord::encode(seq, draft)?;
            bytes += row.bytes();
            if bytes > APPEND_BYTES_MAX as u64 {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                return Err(StoreError::TooLarge { what: "append", bytes, bytes_max: APPEND_BYTES_MAX });
            }
            rows.push(row);
        }
        Ok(Self { execution, fence, rows, status, bytes, started })
    }

    /// Whether this start asks for what an existing execution was started with (T4); for writers of stores.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] names what differs; [`StoreError::Corrupt`] when the first record is no start.
    pub fn attach(&self, first: RawRecord) -> Result<(), StoreError> {
        let corrupt = |fault| StoreError::Corrupt { seq: Some(1), fault };
        let Event::ExecutionStarted(there) = first.decode().map_err(corrupt)?.event else {
            return Err(corrupt(crate::record::RecordFault::Kind));
        };
        match &self.started {
            Some(asked) if asked.same_request(&there) => Ok(()),
            Some(asked) if asked.flow == there.flow => Err(StoreError::Conflict { differs: "input" }),
            _ => Err(StoreError::Conflict { differs: "flow" }),
        }
    }
}
