//! A handle on an execution, and what its holders share with its driver.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use futures::task::AtomicWaker;
use loom_effect_runtime::{AbortReason, CancelKind, Data, ExecutionCancelledError};
use serde_json::Value;
use tokio::sync::watch;

use crate::ctx::typed;
use crate::error::WorkflowError;
use crate::record::{ExecutionId, FlowName};

/// A handle on one execution. Every handle of it, wherever it was started, answers the one outcome.
///
/// Dropping it does not cancel the execution; dropping the [`Workflow`](crate::Workflow) stops driving it.
pub struct ExecutionHandle<O> {
    running: Arc<Running>,
    phase: watch::Receiver<Phase>,
    output: PhantomData<fn() -> O>,
}

impl<O: Data> ExecutionHandle<O> {
    pub(crate) fn new(running: Arc<Running>) -> Self {
        let phase = running.phase.clone();
        Self { running, phase, output: PhantomData }
    }

    /// The execution's id.
    #[must_use]
    pub fn id(&self) -> &ExecutionId {
        &self.running.id
    }

    /// Waits for the outcome: its end is recorded and acknowledged before it is told.
    ///
    /// # Errors
    /// [`WorkflowError`]: the flow's failure, how it was cancelled, why it is blocked, or what the store met.
    ///
    /// # Cancel safety
    /// Dropping the wait drops nothing else.
    pub async fn wait_for_completion(&self) -> Result<O, WorkflowError> {
        let mut phase = self.phase.clone();
        let ended = phase.wait_for(|phase| matches!(phase, Phase::Ended(_))).await;
        let output = match ended.as_deref() {
            Ok(Phase::Ended(outcome)) => outcome.clone()?,
            _ => return Err(WorkflowError::Stopped),
        };
        drop(ended);
        Ok(typed(&output)?)
    }

    /// Asks the execution to end. The request is recorded first, then the flow's calls are aborted with an
    /// [`ExecutionCancelledError`] of kind `cancel`. Answers whether this request is the one that counts; false once
    /// another was made or the outcome is there.
    pub fn cancel(&self) -> bool {
        self.cancel_with(Arc::new(ExecutionCancelledError { kind: CancelKind::Cancel }))
    }

    /// As [`cancel`](Self::cancel), with an error of one's own as the reason: it comes back as itself from
    /// [`WorkflowError::abort_reason`], and from the calls it aborts (spec row T10). It does not survive the process:
    /// what is recorded is that somebody cancelled.
    pub fn cancel_with(&self, reason: AbortReason) -> bool {
        if matches!(*self.phase.borrow(), Phase::Ended(_)) {
            return false;
        }
        let first = self.running.cancel.set(reason).is_ok();
        self.running.driver.wake();
        first
    }
}

impl<O> Clone for ExecutionHandle<O> {
    fn clone(&self) -> Self {
        Self { running: Arc::clone(&self.running), phase: self.phase.clone(), output: PhantomData }
    }
}

impl<O> std::fmt::Debug for ExecutionHandle<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutionHandle").field("id", &self.running.id).finish_non_exhaustive()
    }
}

/// Where an execution stands in this process.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Starting,
    Running,
    /// It could not be started, attached to or resumed.
    Refused(WorkflowError),
    Ended(Result<Value, WorkflowError>),
}

/// What handles and driver of one execution share.
pub(crate) struct Running {
    pub(crate) id: ExecutionId,
    pub(crate) flow: FlowName,
    pub(crate) input: Value,
    pub(crate) phase: watch::Receiver<Phase>,
    cancel: OnceLock<AbortReason>,
    driver: AtomicWaker,
}

impl Running {
    pub(crate) fn new(id: ExecutionId, flow: FlowName, input: Value) -> (Arc<Self>, watch::Sender<Phase>) {
        let (sender, phase) = watch::channel(Phase::Starting);
        let (cancel, driver) = (OnceLock::new(), AtomicWaker::new());
        (Arc::new(Self { id, flow, input, phase, cancel, driver }), sender)
    }

    /// Waits until it is known whether the execution could be started.
    pub(crate) async fn begun(&self) -> Phase {
        let mut phase = self.phase.clone();
        let begun = phase.wait_for(|phase| !matches!(phase, Phase::Starting)).await;
        begun.map_or(Phase::Refused(WorkflowError::Stopped), |phase| phase.clone())
    }

    pub(crate) fn cancel_reason(&self) -> Option<AbortReason> {
        self.cancel.get().cloned()
    }

    pub(crate) fn register(&self, waker: &Waker) {
        self.driver.register(waker);
    }
}
