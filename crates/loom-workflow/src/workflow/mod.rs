//! The workflow: registered flows, a store, and the executions that run in this process.

pub(crate) mod begin;
mod builder;
mod options;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loom_effect_runtime::{CallError, Clock, Data, EffectRuntime, ErrorName};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

pub use builder::WorkflowBuilder;
pub use options::StartOptions;

use crate::engine::{Tools, fits};
use crate::error::{WorkflowError, conflict, no_flow, too_many};
use crate::flow::Flow;
use crate::handle::{ExecutionHandle, Phase, Running};
use crate::record::{ExecutionId, FlowName};
use crate::store::EventStore;

/// The most executions that one workflow drives at once; a start beyond it is refused.
pub const EXECUTIONS_RUNNING_MAX: usize = 100_000;

/// Runs flows durably. Cheap to clone; it needs a tokio runtime.
///
/// Dropping the last clone stops driving its executions where they are: handles answer
/// [`WorkflowError::Stopped`], and what was acknowledged goes on when it is started again.
#[derive(Clone, Debug)]
pub struct Workflow(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Arc<Parts>,
    registry: Arc<Registry>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for (_, (_, task)) in std::mem::take(&mut *self.registry.running()) {
            task.abort();
        }
    }
}

impl Workflow {
    /// Begins a workflow over a runtime and a store.
    pub fn builder(runtime: EffectRuntime, store: Arc<dyn EventStore>) -> WorkflowBuilder {
        WorkflowBuilder::new(runtime, store)
    }

    /// Starts an execution of a flow, and answers a handle once the start is acknowledged.
    ///
    /// An id that exists attaches when flow and input are the same (spec row T4): to the execution that runs in this
    /// process, to the recorded outcome, or, where an earlier process left it unfinished, by resuming it in a new
    /// epoch. There is never a second run. Principal and deadline are those of the first start.
    ///
    /// # Errors
    /// `ExecutionConflictError` when the id runs with another flow or input; `InputInvalidError` when there is no
    /// such flow or it takes another input; `QuotaExceededError` at [`EXECUTIONS_RUNNING_MAX`]; what the store meets.
    ///
    /// # Cancel safety
    /// The execution may have started when the future is dropped; start it again under the same id to learn.
    pub async fn start<O: Data>(
        &self,
        flow: &str,
        input: &impl Serialize,
        options: StartOptions,
    ) -> Result<ExecutionHandle<O>, WorkflowError> {
        let flow = self.parts().newest(flow)?;
        let name = flow.checked().map_err(|_| no_flow())?;
        let input = serde_json::to_value(input)
            .map_err(|_| CallError::named(ErrorName::InputInvalid, "the flow's input has no JSON form"))?;
        fits(&input)?;
        flow.accepts(&input)?;
        let id = options.execution_id.clone().unwrap_or_else(ExecutionId::mint);
        loop {
            let (running, mine) = self.enter(&id, || {
                let (running, phase) = Running::new(id.clone(), name.clone(), input.clone());
                let begin = begin::Begin {
                    parts: Arc::clone(self.parts()),
                    registry: Arc::clone(&self.0.registry),
                    running: Arc::clone(&running),
                    flow: flow.clone(),
                    options: options.clone(),
                };
                (running, begin, phase)
            })?;
            match running.begun().await {
                Phase::Refused(error) if mine => return Err(error),
                // Somebody else's start failed; ours is another one.
                Phase::Refused(error @ WorkflowError::Stopped) => return Err(error),
                Phase::Refused(_) => {}
                _ if running.flow != name => return Err(conflict("flow")),
                _ if running.input != input => return Err(conflict("input")),
                _ => return Ok(ExecutionHandle::new(running)),
            }
        }
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.0.parts
    }

    /// The execution that runs under an id, or a new one. One lock makes it the only one.
    fn enter(
        &self,
        id: &ExecutionId,
        make: impl FnOnce() -> (Arc<Running>, begin::Begin, tokio::sync::watch::Sender<Phase>),
    ) -> Result<(Arc<Running>, bool), WorkflowError> {
        let handle = Handle::try_current().map_err(|_| {
            CallError::named(
                ErrorName::EffectFailed,
                "a workflow needs a tokio runtime, and there is none here",
            )
        })?;
        let mut registry = self.0.registry.running();
        if let Some((running, _)) = registry.get(id) {
            return Ok((Arc::clone(running), false));
        }
        if registry.len() >= EXECUTIONS_RUNNING_MAX {
            return Err(too_many());
        }
        let (running, begin, phase) = make();
        let task = handle.spawn(begin.run(phase));
        registry.insert(id.clone(), (Arc::clone(&running), task.abort_handle()));
        Ok((running, true))
    }
}

/// What every execution of a workflow is driven with.
pub(crate) struct Parts {
    pub(crate) runtime: EffectRuntime,
    pub(crate) store: Arc<dyn EventStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tools: Arc<Tools>,
    /// Revisions in the order of registration: the last one starts.
    pub(crate) flows: BTreeMap<FlowName, Vec<Flow>>,
}

impl Parts {
    fn newest(&self, name: &str) -> Result<Flow, WorkflowError> {
        let revisions = FlowName::new(name).ok().and_then(|name| self.flows.get(&name));
        revisions.and_then(|revisions| revisions.last()).cloned().ok_or_else(no_flow)
    }

    /// The revision that an execution is pinned to.
    pub(crate) fn pinned(&self, name: &FlowName, revision: &str) -> Option<Flow> {
        self.flows.get(name)?.iter().find(|flow| flow.revision() == revision).cloned()
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("flows", &self.flows).finish_non_exhaustive()
    }
}

/// The executions that run in this process.
#[derive(Default)]
pub(crate) struct Registry(Mutex<Executions>);

type Executions = BTreeMap<ExecutionId, (Arc<Running>, AbortHandle)>;

impl Registry {
    fn running(&self) -> MutexGuard<'_, Executions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, id: &ExecutionId) {
        self.running().remove(id);
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.running().keys()).finish()
    }
}
