//! Decisions: a decider runs once, in a scope of its own, and its return value alone is kept.

mod call;
mod ceiling;
mod scope;

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use loom_effect_runtime::{CallError, Data};
use pin_project::pin_project;
use tracing::Span;

pub use call::{ScopeCall, ScopeFuture, ScopeReported};
use ceiling::Ceiling;
pub use scope::DecideScope;
use scope::ScopeGuard;

use crate::ctx::{given, recorded};
use crate::engine::{Place, Turn};
use crate::failure;

/// A decision that was not started yet. Await it.
#[must_use = "a decision does nothing until it is awaited"]
pub struct Decide<D, F> {
    place: Result<Place, CallError>,
    id: Arc<str>,
    decider: D,
    ceiling: Ceiling,
    future: PhantomData<fn() -> F>,
}

impl<D, F> Decide<D, F> {
    pub(crate) fn new(place: Result<Place, CallError>, id: Arc<str>, decider: D) -> Self {
        Self { place, id, decider, ceiling: Ceiling::default(), future: PhantomData }
    }

    /// The most calls that the scope may start; the next is refused with `QuotaExceededError` by the rule
    /// `scope.max_calls` (spec row T12).
    pub fn max_calls(mut self, calls: u64) -> Self {
        self.ceiling.calls_max = Some(calls);
        self
    }

    /// The most tokens that the scope's calls may use together; the breach is `QuotaExceededError` by the rule
    /// `scope.max_tokens` (spec row T12).
    ///
    /// A call counts as the larger of what its provider reported and what its live text came to (a token for every
    /// four bytes of a delta, rounded up), so silence does not evade. The delta that breaches reaches no sink.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.ceiling.tokens_max = Some(tokens);
        self
    }
}

impl<T, D, F> IntoFuture for Decide<D, F>
where
    T: Data,
    D: FnOnce(DecideScope) -> F,
    F: Future<Output = Result<T, CallError>>,
{
    type Output = Result<T, CallError>;
    type IntoFuture = DecideFuture<T, D, F>;

    fn into_future(self) -> DecideFuture<T, D, F> {
        DecideFuture {
            guard: None,
            running: None,
            place: self.place,
            id: self.id,
            decider: Some(self.decider),
            ceiling: self.ceiling,
            own: None,
            span: Span::none(),
        }
    }
}

impl<D, F> std::fmt::Debug for Decide<D, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decide").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A decision under way. Dropped first, the guard closes the scope, also on a panic.
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub struct DecideFuture<T, D, F> {
    guard: Option<ScopeGuard>,
    #[pin]
    running: Option<F>,
    place: Result<Place, CallError>,
    id: Arc<str>,
    decider: Option<D>,
    ceiling: Ceiling,
    own: Option<Result<T, CallError>>,
    span: Span,
}

impl<T, D, F> Future for DecideFuture<T, D, F>
where
    T: Data,
    D: FnOnce(DecideScope) -> F,
    F: Future<Output = Result<T, CallError>>,
{
    type Output = Result<T, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let place = match this.place {
            Ok(place) => place,
            Err(error) => return Poll::Ready(Err(error.clone())),
        };
        loop {
            if let Some(running) = this.running.as_mut().as_pin_mut() {
                let span = this.span.enter();
                let result = ready!(running.poll(cx));
                drop(span);
                // What the decider started and did not await is aborted before anything is recorded.
                drop(this.guard.take());
                this.running.set(None);
                *this.own = Some(settle(place, result));
            }
            let served = match place.turn(cx) {
                Turn::Wait => return Poll::Pending,
                Turn::Served(served) => served,
                Turn::Start(_) => {
                    if let Some(decider) = this.decider.take() {
                        *this.span = tracing::debug_span!("loom.decide", loom.decision = %this.id);
                        let guard = ScopeGuard::open(&place.execution, this.id, *this.ceiling);
                        let scope = guard.scope();
                        *this.guard = Some(guard);
                        let running = this.span.in_scope(|| decider(scope));
                        this.running.set(Some(running));
                    }
                    continue;
                }
            };
            return Poll::Ready(given(place, served, this.own));
        }
    }
}

impl<T, D, F> std::fmt::Debug for DecideFuture<T, D, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DecideFuture").field("id", &self.id).finish_non_exhaustive()
    }
}

fn settle<T: Data>(place: &Place, result: Result<T, CallError>) -> Result<T, CallError> {
    let (given, own) = match result.map_err(failure::recordable).and_then(recorded) {
        Ok((value, output)) => (Ok(value), Ok(output)),
        Err(error) => (Err(error.clone()), Err(error)),
    };
    place.complete(|engine, path, at_ms| engine.complete_decision(path, given, at_ms));
    own
}
