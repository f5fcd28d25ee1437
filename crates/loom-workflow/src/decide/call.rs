//! One call of a decide scope.

use loom_effect_runtime::engine::EngineCall;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use loom_effect_runtime::{
    CallBuilder, CallError, CallReport, DeltaSink, EffectDelta, Launch, MeterForm, Reported, Signal,
};
use pin_project::pin_project;

use super::ceiling::Counter;
use super::scope::Shared;

/// A scope call that was not started yet. Await it; or `.into_future()` where a future is asked for.
#[must_use = "a call does nothing until it is awaited"]
pub struct ScopeCall<L> {
    scope: Arc<Shared>,
    call: CallBuilder<L>,
    own: Option<Signal>,
}

impl<L: Launch> ScopeCall<L> {
    pub(super) fn new(scope: Arc<Shared>, call: CallBuilder<L>) -> Self {
        Self { scope, call, own: None }
    }

    /// Follows the live view of this call with a closure (spec row D1). The scope only forwards it.
    pub fn on_delta(mut self, sink: impl Fn(&EffectDelta<'_>) + Send + Sync + 'static) -> Self {
        self.call = self.call.on_delta(sink);
        self
    }

    /// Follows the live view of this call with a sink.
    pub fn on_delta_sink(mut self, sink: impl DeltaSink) -> Self {
        self.call = self.call.on_delta_sink(sink);
        self
    }

    /// The decider's own signal: it adds to the execution's and the scope's, never replaces them (spec row D8). A
    /// second one replaces the first.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.own = Some(signal);
        self
    }

    /// Gives the call's facts beside its result.
    pub fn reported(self) -> ScopeReported<L> {
        let Self { scope, call, own } = self;
        let key = scope.execution.call_key(&scope.decision);
        let mut refused = None;
        let mut call = match key {
            Ok(key) => call.in_scope(key, scope.execution.totals()),
            Err(error) => {
                refused = Some(error);
                call
            }
        };
        // In this order: of two that are raised, the first one's reason is given.
        let signals = [Some(scope.execution.signal.clone()), own, Some(scope.closed.clone())];
        for signal in signals.into_iter().flatten() {
            call = call.signal(signal);
        }
        let counter = scope.spent.counter();
        if let Some(counter) = &counter {
            call = call.meter(Arc::clone(counter) as Arc<dyn MeterForm>);
        }
        ScopeReported { running: call.reported(), scope, counter, refused, admitted: false }
    }
}

impl<L: Launch> IntoFuture for ScopeCall<L> {
    type Output = Result<L::Out, CallError>;
    type IntoFuture = ScopeFuture<L>;

    fn into_future(self) -> ScopeFuture<L> {
        ScopeFuture(self.reported())
    }
}

impl<L> std::fmt::Debug for ScopeCall<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopeCall").field("decision", &self.scope.decision).finish_non_exhaustive()
    }
}

/// A running scope call that gives its result alone.
#[pin_project]
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct ScopeFuture<L: Launch>(#[pin] ScopeReported<L>);

impl<L: Launch> Future for ScopeFuture<L> {
    type Output = Result<L::Out, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(self.project().0.poll(cx)).0)
    }
}

/// A running scope call that gives its result and its report.
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub struct ScopeReported<L: Launch> {
    #[pin]
    running: Reported<L::Fut>,
    scope: Arc<Shared>,
    counter: Option<Arc<Counter>>,
    refused: Option<CallError>,
    admitted: bool,
}

impl<L: Launch> Future for ScopeReported<L> {
    type Output = (Result<L::Out, CallError>, CallReport);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if !*this.admitted {
            *this.admitted = true;
            let admitted = match this.refused.take() {
                Some(error) => Err(error),
                None => match this.scope.closed.reason() {
                    Some(reason) => Err(CallError::aborted(reason)),
                    None => this.scope.spent.admit(),
                },
            };
            if let Err(error) = admitted {
                return Poll::Ready((Err(error), CallReport::default()));
            }
        }
        let (result, report) = ready!(this.running.poll(cx));
        let settled = this.counter.as_ref().map_or(Ok(()), |counter| counter.settle(report.usage));
        Poll::Ready((result.and_then(|output| settled.map(|()| output)), report))
    }
}

impl<L: Launch> std::fmt::Debug for ScopeReported<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopeReported").field("decision", &self.scope.decision).finish_non_exhaustive()
    }
}
