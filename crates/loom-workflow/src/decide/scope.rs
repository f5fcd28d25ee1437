//! The scope of a decider: calls that run as the execution, for as long as the decider runs.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use loom_effect_runtime::{
    AnyInvocation, AnyInvoked, Data, DecideScopeClosedError, Invoke, Launch, Signal, ToolRef,
};

use super::ScopeCall;
use super::ceiling::{Ceiling, Spent};
use crate::engine::Execution;

/// What a decider calls effects with. Cheap to clone; once its decider has settled every call of it fails with
/// `DecideScopeClosedError` (spec row T10).
///
/// Its calls are transient: nothing of them is recorded. They run as the execution (spec row T6), and no option of
/// a call changes that. What they cost is not charged to the execution; admission sees the execution's totals
/// (spec row T12).
#[derive(Clone)]
pub struct DecideScope {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) execution: Arc<Execution>,
    pub(super) decision: Arc<str>,
    /// Raised when the decider settles.
    pub(super) closed: Signal,
    pub(super) spent: Arc<Spent>,
}

impl DecideScope {
    /// Calls an effect transiently, as the execution. By typed handle the call gives the effect's type; by id any
    /// input is taken and JSON given. Nothing runs until it is awaited.
    ///
    /// # Errors
    /// What the governed path answers; `DecideScopeClosedError` after the decider has settled, also as the abort
    /// reason of a call that was given to a task and is still under way.
    pub fn invoke_transient<T: ToolRef<I>, I: Data>(
        &self,
        tool: T,
        input: I,
    ) -> ScopeCall<impl Launch<Out = T::Out> + use<T, I>> {
        let call = self.shared.execution.caller.invoke_transient(tool, input);
        ScopeCall::new(Arc::clone(&self.shared), call)
    }
}

impl Invoke for DecideScope {
    fn start(&self, call: AnyInvocation) -> BoxFuture<'static, AnyInvoked> {
        let (call, signal) = call.bind(&self.shared.execution.caller);
        let call = ScopeCall::new(Arc::clone(&self.shared), call);
        match signal {
            Some(signal) => call.signal(signal),
            None => call,
        }
        .reported()
        .boxed()
    }
}

impl std::fmt::Debug for DecideScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DecideScope").field("decision", &self.shared.decision).finish_non_exhaustive()
    }
}

/// Keeps a scope open; dropping it, however that comes about, closes it.
pub(super) struct ScopeGuard(Arc<Shared>);

impl ScopeGuard {
    pub(super) fn open(execution: &Arc<Execution>, decision: &Arc<str>, ceiling: Ceiling) -> Self {
        Self(Arc::new(Shared {
            execution: Arc::clone(execution),
            decision: Arc::clone(decision),
            closed: Signal::new(),
            spent: Arc::new(Spent::new(ceiling)),
        }))
    }

    pub(super) fn scope(&self) -> DecideScope {
        DecideScope { shared: Arc::clone(&self.0) }
    }
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        self.0.closed.abort_with(DecideScopeClosedError::new());
    }
}
