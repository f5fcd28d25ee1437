//! Durable executions: flows whose steps and decisions are recorded, resumed after a crash, and replayed without a
//! call.
//!
//! Depend on this crate to write flows, or to write a store behind [`store::EventStore`].
//! It knows no store but the in-memory one and no model provider.
//!
//! ```
//! use std::sync::Arc;
//!
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
//! use loom_workflow::memory::MemoryStore;
//! use loom_workflow::record::ExecutionId;
//! use loom_workflow::{Ctx, Replayed, StartOptions, Workflow, flow};
//! use serde_json::{Value, json};
//!
//! struct Model;
//!
//! impl Effect for Model {
//!     type Input = String;
//!     type Output = u32;
//!     fn id(&self) -> &str { "model" }
//!     async fn execute(&self, goal: &String, _: &EffectContext<'_>) -> Result<u32, CallError> {
//!         Ok(goal.len() as u32)
//!     }
//! }
//!
//! struct Publish;
//!
//! impl Effect for Publish {
//!     type Input = u32;
//!     type Output = String;
//!     fn id(&self) -> &str { "publish" }
//!     async fn execute(&self, steps: &u32, cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         Ok(format!("{steps} steps under {}", cx.idempotency_key().unwrap_or_default()))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let runtime = EffectRuntime::builder().allow_all_calls().effect(Model).effect(Publish).build()?;
//! let plan = flow("plan", "1", |ctx: Ctx, goal: String| async move {
//!     // Only what the decider returns is kept; on replay neither it nor the model runs.
//!     let steps = ctx
//!         .decide("plan", async |scope| {
//!             let answer: Value = scope.invoke_transient("model", goal.clone()).await?;
//!             Ok(answer.as_u64().unwrap_or(1).min(4))
//!         })
//!         .await?;
//!     ctx.emit("PLANNED", json!({ "steps": steps }))?;
//!     ctx.run("publish", "publish", steps).await
//! });
//! let workflow = Workflow::builder(runtime, Arc::new(MemoryStore::new())).flow(plan).build()?;
//! let id = ExecutionId::new("plan-17")?;
//! let options = StartOptions::new().execution_id(id.clone());
//! let handle = workflow.start::<String>("plan", &"ship it", options).await?;
//! assert_eq!(handle.wait_for_completion().await?, "4 steps under plan-17:publish");
//!
//! let report = workflow.replay(&id).await?;
//! assert!(matches!(report.outcome, Replayed::Ended(Ok(_))));
//! assert_eq!((report.served_steps, report.served_decisions, report.effect_calls), (1, 1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Determinism
//! A flow sees results one at a time, in the journal's order, live as on replay, so that joins and races take the
//! same way both times. No effect starts and no outcome is told before the store has acknowledged what led to it.
//!
//! On replay order, ids, effect, input schema, revision and kind of steps and decisions are compared, and the names of
//! the flow's own events in their order; where they differ the execution is blocked, its journal as it was. A step's
//! input is not recorded and so not compared; patch markers, suspension, timers and recorded time and randomness are
//! planned.
//!
//! Builds with `panic = "abort"` void what is promised here about panics.

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

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
