//! The builder of one run: options, then await.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta, Invoke, Signal};
use loom_llm::Message;

use super::Parts;
use super::run::Run;
use crate::error::AgentError;
use crate::outcome::AgentOutcome;

/// A run that was not started yet. Await it.
///
/// # Errors
/// [`AgentError`], which keeps the transcript.
///
/// # Cancel safety
/// Dropping the future cancels every call in flight; none outlives it.
#[must_use = "a run does nothing until it is awaited"]
pub struct AgentCall {
    parts: Arc<Parts>,
    by: Arc<dyn Invoke>,
    conversation: Vec<Message>,
    signal: Option<Signal>,
    sink: Option<Arc<dyn DeltaSink>>,
}

impl AgentCall {
    pub(super) fn new(parts: Arc<Parts>, by: Arc<dyn Invoke>, conversation: Vec<Message>) -> Self {
        Self { parts, by, conversation, signal: None, sink: None }
    }

    /// Adds a signal to the cancellation of every call of the run (spec row D8). A second one replaces the first.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.signal = Some(signal);
        self
    }

    /// Follows the live view of every model call of this run with a closure. Each delivery names its call, and every
    /// model call is one of its own, with its `done` (spec rows D1, D12).
    ///
    /// It is the per-call sink of those calls, so it is told before the sink that the model's effect declares (spec
    /// row D4). A sink for every run is configured there, with [`agent_model`](crate::agent_model); a runner has none.
    pub fn on_delta(self, sink: impl Fn(&CallRef<'_>, &EffectDelta<'_>) + Send + Sync + 'static) -> Self {
        self.on_delta_sink(SinkFn(sink))
    }

    /// As [`on_delta`](Self::on_delta), with a sink that says which kinds it asks for.
    pub fn on_delta_sink(mut self, sink: impl DeltaSink) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }
}

impl IntoFuture for AgentCall {
    type Output = Result<AgentOutcome, AgentError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { parts, by, conversation, signal, sink } = self;
        Run::new(parts, by, conversation, signal, sink).go().boxed()
    }
}

impl fmt::Debug for AgentCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentCall")
            .field("tools", &self.parts.tools)
            .field("messages", &self.conversation.len())
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}

/// A closure as a sink.
struct SinkFn<F>(F);

impl<F: Fn(&CallRef<'_>, &EffectDelta<'_>) + Send + Sync + 'static> DeltaSink for SinkFn<F> {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        (self.0)(call, delta);
    }
}
