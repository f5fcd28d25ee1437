//! A folder for one test's store, and the store in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use loom_store_sqlite::{SqliteOptions, SqliteStore};
use loom_workflow::record::ExecutionId;
use loom_workflow::store::StoreError;

/// Names the database to a test that runs as a child process.
pub(crate) const CHILD: &str = "LOOM_STORE_CHILD";

/// A folder that goes with its test.
pub(crate) struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(ExecutionId::mint().as_str());
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.0.join("loom.db")
    }

    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        self.0.join(format!("loom.db{suffix}"))
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        SqliteStore::open(SqliteOptions::new(self.db()).unwrap()).await.unwrap()
    }

    /// Opens a location that is expected to be refused.
    pub(crate) async fn refused(&self, location: impl AsRef<Path>) -> StoreError {
        SqliteStore::open(SqliteOptions::new(location).unwrap()).await.err().unwrap()
    }

    /// This test binary, about to run one of its ignored tests on this database.
    pub(crate) fn child(&self, program: impl AsRef<OsStr>, before: &[&str], test: &str) -> Command {
        let mut command = Command::new(program);
        command.args(before).args(["--exact", test, "--ignored", "--nocapture"]);
        command.env(CHILD, self.db()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

/// The database that the parent process names to its child.
pub(crate) fn named() -> PathBuf {
    std::env::var_os(CHILD).expect("a parent process names the database").into()
}
