//! Waiting under a deadline and the call's signals.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;

use crate::call::Call;
use crate::caught::{Contained, caught};
use crate::error::{AbortReason, CallError, Refusal};
use crate::hook::Waiting;

/// The wait for a call's signals, made at the first Pending; nothing where the call has none.
pub(super) struct Aborted<'c> {
    call: &'c Call,
    wait: Option<BoxFuture<'c, AbortReason>>,
}

impl<'c> Aborted<'c> {
    pub(super) fn new(call: &'c Call) -> Self {
        Self { call, wait: None }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<AbortReason> {
        let signals = self.call.signal();
        if signals.is_empty() {
            return Poll::Pending;
        }
        let wait = self.wait.get_or_insert_with(|| Box::pin(signals.aborted()));
        Pin::new(wait).poll(cx)
    }
}

/// Awaits a hook's waiting step. The deadline is armed at its first Pending; at the deadline, without a timer, and
/// when it panics, the call is refused. An abort ends the wait with its reason.
pub(super) async fn bounded<'w>(
    call: &Call,
    ask: impl FnOnce() -> (Waiting<'w>, Duration),
    late: impl Fn() -> Refusal,
    panicked: impl Fn() -> Refusal,
) -> Result<(), CallError> {
    let (waiting, deadline) = caught(ask).map_err(|_| panicked())?;
    let mut waiting = Contained::new(waiting);
    let clock = &call.info().caller.runtime().clock;
    let mut timer = None;
    let mut aborted = Aborted::new(call);
    poll_fn(|cx| {
        let Some(step) = waiting.get_mut() else { return Poll::Ready(Err(panicked().into())) };
        match caught(|| step.as_mut().poll(cx)) {
            Err(_) => return Poll::Ready(Err(panicked().into())),
            Ok(Poll::Ready(step)) => return Poll::Ready(step.map_err(CallError::from)),
            Ok(Poll::Pending) => {}
        }
        if let Poll::Ready(reason) = aborted.poll(cx) {
            return Poll::Ready(Err(CallError::aborted(reason)));
        }
        if timer.is_none() {
            timer = caught(|| clock.sleep(deadline)).ok().flatten().map(Contained::new);
        }
        let Some(timer) = timer.as_mut().and_then(Contained::get_mut) else {
            return Poll::Ready(Err(late().into()));
        };
        match caught(|| timer.as_mut().poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) | Err(_) => Poll::Ready(Err(late().into())),
        }
    })
    .await
}
