//! A reading connection, and what a file that is read without locks must keep to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loom_workflow::store::StoreError;
use rusqlite::Connection;

use crate::fault::Trouble;
use crate::files;

/// A connection that reads.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) connection: Connection,
    /// What was seen of the file, where it is read as one that nobody changes.
    pub(crate) frozen: Option<Frozen>,
}

impl Reading {
    /// Asks the connection; what it says of a file that changed meanwhile is not passed on.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let found = question(&self.connection);
        self.frozen.as_ref().map_or(Ok(()), Frozen::check)?;
        found
    }
}

/// A file as it was before it was opened without locks.
#[derive(Debug)]
pub(crate) struct Frozen {
    path: PathBuf,
    seen: (u64, Option<SystemTime>),
}

impl Frozen {
    /// Notes what the file is like now.
    ///
    /// # Errors
    /// [`StoreError::Io`] where a log waits to be merged into it: the file alone is not whole.
    pub(crate) fn new(path: &Path) -> Result<Self, StoreError> {
        let seen = look(path).map_err(|error| files::failed("opening the file", &error))?;
        let frozen = Self { path: path.to_owned(), seen };
        if frozen.has_log() {
            let doing = "reading a write-ahead log without write access (let a writer open the store once)";
            return Err(StoreError::Io { doing, kind: io::ErrorKind::PermissionDenied });
        }
        Ok(frozen)
    }

    /// A writer fills the log before it changes the file, and empties it only after that.
    fn check(&self) -> Result<(), StoreError> {
        if self.has_log() || look(&self.path).ok() != Some(self.seen) {
            let doing = "reading without write access while another process writes";
            return Err(StoreError::Io { doing, kind: io::ErrorKind::ResourceBusy });
        }
        Ok(())
    }

    fn has_log(&self) -> bool {
        fs::metadata(files::beside(&self.path, "-wal")).is_ok_and(|log| log.len() > 0)
    }
}

fn look(path: &Path) -> io::Result<(u64, Option<SystemTime>)> {
    let there = fs::metadata(path)?;
    Ok((there.len(), there.modified().ok()))
}
