//! Why a store refuses or fails; each message names what to do next.

use std::io;

use crate::record::RecordFault;
use crate::store::{ExecutionStatus, Fence};

/// What a store answers instead of doing what it was asked.
///
/// It holds no content of records and no path. After [`Io`](Self::Io) or [`Closed`](Self::Closed) an append may or may not
/// have happened, wholly or not at all: reopen the store and read the head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else has appended or taken the execution over; this writer must stop driving it (T16).
    #[error(
        "the writer is stale: expected {expected}, the store has {got}; read the head and drive it anew, or stop"
    )]
    Fenced {
        /// What the writer believed.
        expected: Fence,
        /// What the store holds.
        got: Fence,
    },
    /// The execution id exists with another flow or input (T4).
    #[error(
        "the execution id is taken by a start with another {differs}; use another id, or the same request"
    )]
    Conflict {
        /// What differs: `flow` or `input`.
        differs: &'static str,
    },
    /// There is no execution with this id.
    #[error("the execution id is unknown; list the executions to see those there are")]
    NotFound,
    /// The execution is over, and its journal final.
    #[error("the execution is over ({status}) and its journal final; start another")]
    Ended {
        /// How it ended.
        status: ExecutionStatus,
    },
    /// The caller broke the trait's contract.
    #[error("the append is malformed: {what}")]
    Malformed {
        /// Which rule it broke.
        what: &'static str,
    },
    /// A stated bound is passed.
    #[error(
        "the {what} has {bytes} bytes, at most {bytes_max} fit; keep large values elsewhere and record a reference"
    )]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
    /// A payload nests deeper than journals allow.
    #[error("the payload nests deeper than {depth_max} levels; flatten it")]
    TooDeep {
        /// The bound.
        depth_max: usize,
    },
    /// There is no room; what was acknowledged before is kept.
    #[error("the store is full ({cause}); {}; acknowledged events are kept", cause.remedy())]
    Full {
        /// Which limit was met.
        cause: FullCause,
    },
    /// Another writer holds the store.
    #[error("another writer{} holds the store; wait for it or stop it, reading needs no lock", holder.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Locked {
        /// Its process id, where it could be told.
        holder: Option<u32>,
    },
    /// The store was opened for reading.
    #[error("the store is open for reading only; open it without `mode=ro` to write")]
    ReadOnly,
    /// What is at the path is no store of ours.
    #[error("the path holds no loom store: {fault}; name another path")]
    NotADatabase {
        /// What is there instead.
        fault: DatabaseFault,
    },
    /// The store's place is not one it can have.
    #[error("the store's location is not usable: {what}")]
    BadLocation {
        /// What is expected.
        what: &'static str,
    },
    /// Stored bytes are damaged.
    #[error("{} is damaged: {fault}; keep the file as it is, and restore it from a copy", seq.map_or_else(|| "the store".to_owned(), |seq| format!("record {seq}")))]
    Corrupt {
        /// The damaged record, where it is one.
        seq: Option<u64>,
        /// What is wrong.
        fault: RecordFault,
    },
    /// The store stopped after an I/O error, or its writer is gone.
    #[error("the store is closed after a failure; reopen it and read the head again")]
    Closed,
    /// Reading or writing failed; the store is closed by it.
    #[error("{doing} failed ({kind}); check the disk and the file's permissions, then reopen the store")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// The system lacks what the store needs to keep its promises.
    #[error("not on this platform: {what}; keep the journal on a system that has it")]
    NotOnThisPlatform {
        /// What is missing.
        what: &'static str,
    },
}

impl StoreError {
    /// The stable name, as data.
    pub const fn stable_name(&self) -> &'static str {
        match self {
            Self::Full { .. } => "StoreFullError",
            Self::Locked { .. } => "StoreLockedError",
            Self::Conflict { .. } => "ExecutionConflictError",
            _ => "StoreError",
        }
    }
}

/// Which limit a full store met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FullCause {
    /// The store's own limit; it stays open, readable, and takes what still fits.
    #[error("its configured size limit is reached")]
    Configured,
    /// The disk; the store is closed by it.
    #[error("the disk has no space left")]
    Disk,
    /// The process's file size limit; the store is closed by it.
    #[error("the process may not write larger files")]
    FileSize,
}

impl FullCause {
    const fn remedy(self) -> &'static str {
        match self {
            Self::Configured => "raise the limit or start another store",
            Self::Disk => "free space and reopen it",
            Self::FileSize => "raise the file size limit (`ulimit -f`) and reopen it",
        }
    }
}

/// What is at a path instead of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseFault {
    /// A folder.
    #[error("it is a folder, expected a file")]
    Folder,
    /// A file of another format.
    #[error("it is not a database file")]
    Format,
    /// A database of another application.
    #[error("it is a database of another application")]
    OtherApplication,
    /// A store of a newer version.
    #[error("it has layout version {got}, expected at most {supported}; use a newer loom")]
    NewerLayout {
        /// The version in the file.
        got: u32,
        /// The newest version this build reads.
        supported: u32,
    },
}
