//! The builder of one call: options, then await.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;

use crate::call::{CallOptions, CallReport};
use crate::delta::{DeltaSink, EffectDelta, MeterForm, SinkFn};
use crate::error::CallError;
use crate::identity::{Principal, RunAs};
use crate::signal::Signal;

/// What starts a call; a stand-in for a future whose type cannot be named, without a box. Nobody implements it by hand.
pub trait Launch {
    /// What the call gives.
    type Out;
    /// The call.
    type Fut: Future<Output = (Result<Self::Out, CallError>, CallReport)> + Send;

    #[doc(hidden)]
    fn launch(self, options: Option<Box<CallOptions>>) -> Self::Fut;
}

impl<F, Fut, O> Launch for F
where
    F: FnOnce(Option<Box<CallOptions>>) -> Fut,
    Fut: Future<Output = (Result<O, CallError>, CallReport)> + Send,
{
    type Out = O;
    type Fut = Fut;

    fn launch(self, options: Option<Box<CallOptions>>) -> Fut {
        self(options)
    }
}

/// A call that was not started yet. Await it; or `.into_future()` where a future is asked for, as in `join!`.
#[must_use = "a call does nothing until it is awaited"]
pub struct CallBuilder<L> {
    launch: L,
    options: Option<Box<CallOptions>>,
}

impl<L: Launch> CallBuilder<L> {
    pub(super) fn new(launch: L) -> Self {
        Self { launch, options: None }
    }

    /// Follows the live view of this call with a closure (spec row D1).
    pub fn on_delta(self, sink: impl Fn(&EffectDelta<'_>) + Send + Sync + 'static) -> Self {
        self.on_delta_sink(SinkFn(sink))
    }

    /// Follows the live view of this call with a sink.
    pub fn on_delta_sink(mut self, sink: impl DeltaSink) -> Self {
        self.options().sink = Some(Arc::new(sink));
        self
    }

    /// Adds a signal: it adds to the call's cancellation, never replaces it (spec row D8). One call composes three;
    /// a fourth refuses the call.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.options().add_signal(signal);
        self
    }

    /// Names a bare call: its identity is `transient:<label>`, by default the tool id (spec row T6).
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options().label = Some(label.into());
        self
    }

    /// Asks as another principal than the caller's; the authorizer has to allow it. Without effect on a scope call: a
    /// decider cannot override whom it runs as.
    pub fn principal(mut self, principal: Principal) -> Self {
        if !self.options().in_execution {
            self.options().principal = Some(principal);
        }
        self
    }

    /// Acts as an execution that the caller is not; the authorizer has to allow it. Without effect on a scope call.
    pub fn run_as(mut self, run_as: RunAs) -> Self {
        if !self.options().in_execution {
            self.options().run_as = Some(run_as);
        }
        self
    }

    /// Counts the call's live text with a meter of its own, after the middlewares' meters. A second one replaces the
    /// first.
    pub fn meter(mut self, meter: Arc<dyn MeterForm>) -> Self {
        self.options().meter = Some(meter);
        self
    }

    /// Gives the call's facts beside its result.
    pub fn reported(self) -> Reported<L::Fut> {
        Reported(self.launch.launch(self.options))
    }

    pub(crate) fn options(&mut self) -> &mut CallOptions {
        self.options.get_or_insert_default()
    }
}

impl<L: Launch> IntoFuture for CallBuilder<L> {
    type Output = Result<L::Out, CallError>;
    type IntoFuture = Settled<L::Fut>;

    fn into_future(self) -> Settled<L::Fut> {
        Settled(self.launch.launch(self.options))
    }
}

impl<L> std::fmt::Debug for CallBuilder<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A running call that gives its result alone.
#[pin_project]
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Settled<F>(#[pin] F);

impl<F, O> Future for Settled<F>
where
    F: Future<Output = (Result<O, CallError>, CallReport)>,
{
    type Output = Result<O, CallError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(self.project().0.poll(cx)).0)
    }
}

/// A running call that gives its result and its report.
#[pin_project]
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Reported<F>(#[pin] F);

impl<F: Future> Future for Reported<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().0.poll(cx)
    }
}
