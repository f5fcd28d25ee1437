//! The store that keeps journals, and the rules that every store shares.
//!
//! The rules (fence, density, final journals) are pure functions of a [`Head`] and an [`Encoded`] append, so
//! that two stores cannot disagree about them; a store adds atomicity and durability.

mod append;
mod error;
mod head;

use futures::future::BoxFuture;

pub use append::{APPEND_BYTES_MAX, APPEND_RECORDS_MAX, Append, Encoded, Start, Started};
pub use error::{DatabaseFault, FullCause, StoreError};
pub use head::{EPOCH_MAX, ExecutionStatus, Fence, Head, SEQ_MAX};

use crate::record::{ExecutionId, Record};

/// The most records one page of [`EventStore::read`] holds.
pub const READ_RECORDS_MAX: usize = 1_000;

/// The bytes after which a page of [`EventStore::read`] ends; a page holds at least one record.
pub const READ_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The most executions one page of [`EventStore::list`] holds.
pub const LIST_EXECUTIONS_MAX: usize = 1_000;

/// Keeps the journals of executions: one append-only, fenced log each.
///
/// # Contract
/// - An append is one atomic step: all its records or none, and its answer comes after the records are as durable as
///   [`durability`](Self::durability) says. What was answered is never lost, changed or doubled.
/// - The fence (epoch and last sequence) is compared inside that step, with [`Head::admit`]; no clock takes part.
/// - Sequences are dense from 1. A journal that has ended takes no more records and is never taken over.
/// - After an I/O error the store is closed: every later call answers [`StoreError::Closed`] until it is opened anew.
///
/// # Cancel safety
/// A call whose future is dropped happens wholly or not at all; read the head to learn which.
///
/// # How it grows
/// What later features ask of a store (snapshots, mailboxes, timers, leases, forks by shared prefix) comes as traits of their
/// own, each reached through a provided method here that answers `None` (`fn timers(&self) -> Option<&dyn TimerStore>`), so a
/// store written today keeps compiling, and an engine learns at start what its store can do. Inputs grow by fields of their
/// `#[non_exhaustive]` structs.
pub trait EventStore: Send + Sync + 'static {
    /// Creates an execution with its first records, or attaches to the one that exists with the same flow and input (T4).
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when it exists with another flow or input; else as [`append`](Self::append).
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Started, StoreError>>;

    /// Appends records behind the fence, and answers the new head; a blocked execution runs again.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] for a stale writer (T16), [`StoreError::Ended`], [`StoreError::NotFound`], and what a store can meet.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, StoreError>>;

    /// Raises the epoch durably and answers the new head: every writer of an older epoch is stale from then on.
    ///
    /// # Errors
    /// [`StoreError::Ended`], [`StoreError::NotFound`], and what a store can meet.
    fn take_over<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Head, StoreError>>;

    /// Marks an execution as blocked, behind the fence; its journal stays as it is (T15).
    ///
    /// # Errors
    /// As [`append`](Self::append).
    fn block<'a>(
        &'a self,
        execution: &'a ExecutionId,
        fence: Fence,
    ) -> BoxFuture<'a, Result<Head, StoreError>>;

    /// Reads one page of a journal, in order; only acknowledged records are seen.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Corrupt`] with the first record that is damaged or missing.
    fn read(&self, read: Read) -> BoxFuture<'_, Result<ReadPage, StoreError>>;

    /// The head of an execution, `None` when the id is unknown.
    ///
    /// # Errors
    /// What a store can meet.
    fn head<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Option<Head>, StoreError>>;

    /// Lists executions, the last created first.
    ///
    /// # Errors
    /// What a store can meet.
    fn list(&self, list: List) -> BoxFuture<'_, Result<ListPage, StoreError>>;

    /// What an acknowledged record survives.
    fn durability(&self) -> Durability;
}

/// What an acknowledged record survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Durability {
    /// Nothing: it is gone with the process.
    Memory,
    /// The end of the process, not of the system.
    Os,
    /// The loss of power: it was synced to the disk first.
    Sync,
}

/// Which records to read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Read {
    /// Whose.
    pub execution: ExecutionId,
    /// The first sequence wanted, from 1 (0 reads as 1).
    pub from_seq: u64,
    /// The most records wanted, at most [`READ_RECORDS_MAX`] and at least 1.
    pub limit: usize,
}

impl Read {
    /// The first page of a journal.
    pub fn from_start(execution: ExecutionId) -> Self {
        Self::from_seq(execution, 1)
    }

    /// The page that begins at a sequence.
    pub fn from_seq(execution: ExecutionId, from_seq: u64) -> Self {
        Self { execution, from_seq: from_seq.max(1), limit: READ_RECORDS_MAX }
    }

    /// The same with fewer records.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit.clamp(1, READ_RECORDS_MAX);
        self
    }
}

/// One page of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadPage {
    /// The records, dense and in order.
    pub records: Vec<Record>,
    /// Where the next page begins, `None` at the journal's end.
    pub next_seq: Option<u64>,
}

impl ReadPage {
    /// Builds a page of a journal that ends at `last_seq`, and checks that it is dense from where it should begin.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] at the first sequence that is not where it should be.
    pub fn new(read: &Read, last_seq: u64, records: Vec<Record>) -> Result<Self, StoreError> {
        let mut next = read.from_seq.max(1);
        for record in &records {
            if record.seq != next {
                return Err(StoreError::Corrupt {
                    seq: Some(next),
                    fault: crate::record::RecordFault::Missing,
                });
            }
            next += 1;
        }
        if records.is_empty() && next <= last_seq {
            return Err(StoreError::Corrupt { seq: Some(next), fault: crate::record::RecordFault::Missing });
        }
        Ok(Self { records, next_seq: (next <= last_seq).then_some(next) })
    }
}

/// Which executions to list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct List {
    /// The most executions wanted, at most [`LIST_EXECUTIONS_MAX`] and at least 1.
    pub limit: usize,
    /// Where the page before this one ended; `None` begins with the newest.
    pub before: Option<ListCursor>,
}

impl List {
    /// The newest executions, at most `limit` of them.
    pub fn newest(limit: usize) -> Self {
        Self { limit: limit.clamp(1, LIST_EXECUTIONS_MAX), before: None }
    }

    /// The same, from where another page ended.
    #[must_use]
    pub fn with_before(mut self, cursor: ListCursor) -> Self {
        self.before = Some(cursor);
        self
    }
}

/// A place between two executions in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCursor(u64);

impl ListCursor {
    /// The place before the execution with this creation ordinal; for writers of stores.
    pub const fn before_ordinal(ordinal: u64) -> Self {
        Self(ordinal)
    }

    /// The creation ordinal it stands before.
    pub const fn ordinal(self) -> u64 {
        self.0
    }
}

/// One page of executions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPage {
    /// The heads, the last created first.
    pub heads: Vec<Head>,
    /// Where the next page goes on, `None` after the oldest.
    pub next: Option<ListCursor>,
}

impl ListPage {
    /// Builds a page.
    pub const fn new(heads: Vec<Head>, next: Option<ListCursor>) -> Self {
        Self { heads, next }
    }
}
