//! The embedded default event store: one SQLite file in WAL mode, synced to the disk before every acknowledgement.
//!
//! Depend on it to keep executions across processes; everything else goes through
//! [`EventStore`](loom_workflow::store::EventStore).
//!
//! One committer thread holds the only writing connection and gathers what waits for it into one transaction, without an
//! artificial delay: the sync itself makes the batches. Reads have a connection and a thread of their own. An OS file lock
//! (`<file>.lock`) keeps a second writer out; readers need neither the lock nor write access.
//!
//! A process that limits its file sizes must ignore or handle SIGXFSZ, or the system ends it before the store can say
//! [`StoreError::Full`](loom_workflow::store::StoreError::Full).
//!
//! ```
//! use loom_store_sqlite::{SqliteOptions, SqliteStore};
//! use loom_workflow::record::{ExecutionId, ExecutionStarted, FlowName};
//! use loom_workflow::store::{EventStore, List, Start};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let folder = std::env::temp_dir().join(format!("loom-doc-{}", std::process::id()));
//! let store = SqliteStore::open(SqliteOptions::new(folder.join("loom.db"))?).await?;
//! let started = ExecutionStarted::new(FlowName::new("ship")?, "r1".into(), serde_json::json!({"sku": 4}));
//! store.start(Start::new(ExecutionId::mint(), 1_700_000_000_000, started)).await?;
//! drop(store);
//!
//! let reader = SqliteStore::open(SqliteOptions::new(folder.join("loom.db"))?.read_only()).await?;
//! assert_eq!(reader.list(List::newest(10)).await?.heads.len(), 1);
//! # drop(reader);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod committer;
mod fault;
mod files;
mod options;
mod platform;
mod reader;
mod reading;
mod rows;
mod schema;
mod store;

pub use options::{LOCK_WAIT_MS_DEFAULT, SqliteOptions};
pub use store::SqliteStore;

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
