//! Keeps bare transient calls out of flows (spec row T19).
//!
//! A flow's future is polled inside [`InFlow`]; a governed call clears the mark for its own poll, so that an effect
//! may call what it likes. A task that a flow spawns is not marked: a stated limit.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks every poll of a flow. The workflow crate wraps a flow's future in it.
#[pin_project]
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct InFlow<F>(#[pin] Marked<F>);

impl<F: Future> InFlow<F> {
    /// Wraps a flow's future.
    pub fn new(flow: F) -> Self {
        Self(Marked { inner: flow, inside: true })
    }
}

impl<F: Future> Future for InFlow<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().0.poll(cx)
    }
}

/// Runs a governed call outside the mark.
pub(crate) fn outside<F: Future>(call: F) -> Marked<F> {
    Marked { inner: call, inside: false }
}

/// As [`outside`], for what does not wait. Tells `call` whether it was reached from inside a flow's own code.
#[inline]
pub(crate) fn outside_now<R>(call: impl FnOnce(bool) -> R) -> R {
    let before = mark(false);
    call(before.0)
}

#[inline]
fn mark(inside: bool) -> Restore {
    Restore(INSIDE.try_with(|mark| mark.replace(inside)).unwrap_or(false))
}

#[pin_project]
#[derive(Debug)]
pub(crate) struct Marked<F> {
    #[pin]
    inner: F,
    inside: bool,
}

impl<F: Future> Future for Marked<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _restore = mark(*this.inside);
        this.inner.poll(cx)
    }
}

/// Puts the mark back, also when the poll panics.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|mark| mark.set(self.0));
    }
}
