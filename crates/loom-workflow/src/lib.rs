//! Durable executions: a journal of typed records and the store that keeps it.
//!
//! Depend on this crate to write flows, or to write a store behind [`store::EventStore`].
//! It knows no store but the in-memory one and no model provider.
//!
//! ```
//! use loom_workflow::memory::MemoryStore;
//! use loom_workflow::record::{ExecutionId, ExecutionStarted, FlowName};
//! use loom_workflow::store::{EventStore, Read, Start};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = MemoryStore::new();
//! let id = ExecutionId::new("order-17")?;
//! let started = ExecutionStarted::new(FlowName::new("ship")?, "r1".into(), serde_json::json!({"sku": 4}));
//! let head = store.start(Start::new(id.clone(), 1_700_000_000_000, started)).await?.into_head();
//! assert_eq!((head.epoch, head.last_seq), (1, 1));
//! assert_eq!(store.read(Read::from_start(id)).await?.records.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ctx;
mod decide;
mod engine;
mod error;
mod failure;
mod flow;
mod handle;
mod identity;
pub mod memory;
pub mod record;
mod replay;
pub mod store;
mod workflow;

pub use ctx::{Ctx, StepCall, StepFuture};
pub use decide::{Decide, DecideFuture, DecideScope, ScopeCall, ScopeFuture, ScopeReported};
pub use engine::{CANCEL_GRACE, HISTORY_BYTES_MAX, HISTORY_EVENTS_MAX, HISTORY_HEADROOM_EVENTS};
pub use error::{Nondeterminism, WorkflowBuildError, WorkflowError};
pub use flow::{Flow, flow};
pub use handle::ExecutionHandle;
pub use replay::{ReplayReport, Replayed};
pub use workflow::{EXECUTIONS_RUNNING_MAX, StartOptions, Workflow, WorkflowBuilder};
