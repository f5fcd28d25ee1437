//! Waiting under a deadline and the call's signals.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::call::Call;
use crate::caught::caught;
use crate::error::{CallError, Refusal};
use crate::hook::Waiting;

/// Awaits a hook's waiting step. The deadline is armed at its first Pending; at the deadline, without a timer, and
/// when it panics, the call is refused. An abort ends the wait with its reason.
pub(super) async fn bounded<'w>(
    call: &Call,
    ask: impl FnOnce() -> (Waiting<'w>, Duration),
    late: impl Fn() -> Refusal,
    panicked: impl Fn() -> Refusal,
) -> Result<(), CallError> {
    let (mut waiting, deadline) = caught(ask).map_err(|_| panicked())?;
    let mut timer = None;
    let mut aborted = pin!(call.signal().aborted());
    poll_fn(|cx| {
        match caught(|| waiting.as_mut().poll(cx)) {
            Err(_) => return Poll::Ready(Err(panicked().into())),
            Ok(Poll::Ready(step)) => return Poll::Ready(step.map_err(CallError::from)),
            Ok(Poll::Pending) => {}
        }
        if let Poll::Ready(reason) = aborted.as_mut().poll(cx) {
            return Poll::Ready(Err(CallError::aborted(reason)));
        }
        if timer.is_none() {
            timer = call.info().caller.runtime().clock.sleep(deadline);
        }
        match &mut timer {
            None => Poll::Ready(Err(late().into())),
            Some(timer) => timer.as_mut().poll(cx).map(|()| Err(late().into())),
        }
    })
    .await
}
