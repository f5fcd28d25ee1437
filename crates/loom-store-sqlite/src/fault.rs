//! What an SQLite error means for the store and for the one who asked.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use loom_workflow::record::RecordFault;
use loom_workflow::store::{DatabaseFault, FullCause, StoreError};
use rusqlite::ErrorCode;

use crate::files;

/// What both threads of a store know of it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) path: PathBuf,
    /// Whether a page limit was asked for.
    pub(crate) limited: bool,
    closed: AtomicBool,
}

impl Site {
    pub(crate) const fn new(path: PathBuf, limited: bool) -> Self {
        Self { path, limited, closed: AtomicBool::new(false) }
    }

    /// Stops the store for good.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Refuses what comes after the store was closed.
    pub(crate) fn open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Says what an SQLite error means.
    pub(crate) fn judge(&self, doing: &'static str, error: &rusqlite::Error) -> StoreError {
        let io = |kind| StoreError::Io { doing, kind };
        let Some(code) = error.sqlite_error_code() else {
            return StoreError::Corrupt { seq: None, fault: RecordFault::Layout };
        };
        match code {
            ErrorCode::DiskFull => {
                let configured = if self.limited { FullCause::Configured } else { FullCause::Disk };
                StoreError::Full { cause: files::probe(&self.path).unwrap_or(configured) }
            }
            ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => files::probe(&self.path)
                .map_or_else(|| io(io::ErrorKind::Other), |cause| StoreError::Full { cause }),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked { holder: None },
            ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch => {
                StoreError::Corrupt { seq: None, fault: RecordFault::Layout }
            }
            ErrorCode::NotADatabase => StoreError::NotADatabase { fault: DatabaseFault::Format },
            ErrorCode::PermissionDenied | ErrorCode::ReadOnly => io(io::ErrorKind::PermissionDenied),
            ErrorCode::OutOfMemory => io(io::ErrorKind::OutOfMemory),
            _ => io(io::ErrorKind::Other),
        }
    }
}

/// Closes the store when one of its threads panics; its other thread and later callers then learn of it.
pub(crate) struct CloseOnPanic<'a>(pub(crate) &'a Site);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// Whether a writer must stop after this: only a configured limit and a passing lock leave the file as it was known.
pub(crate) const fn stops_writer(error: &StoreError) -> bool {
    !matches!(error, StoreError::Full { cause: FullCause::Configured } | StoreError::Locked { .. })
}

/// An answer that is not the one hoped for: a refusal by rule, or a failure of SQLite.
#[derive(Debug)]
pub(crate) enum Trouble {
    Refused(StoreError),
    Sql(rusqlite::Error),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}
