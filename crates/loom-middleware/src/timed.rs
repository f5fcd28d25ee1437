//! Bounding what runs in time: the one wait of the timeout and of the deadline.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::{Call, CallError, Next, Opaque};

/// Why what ran was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// Its time is over.
    Late,
    /// Nobody can tell when its time is over.
    NoTimer,
}

/// Runs what is behind `next` to its end, or drops it once the time is over that `left` gives at its first Pending
/// (`None`: it has no bound). What is ready in the poll that finds the time over stands, and so does an abort.
pub(crate) async fn within<'a>(
    call: &'a Call,
    mut next: Next<'a>,
    left: impl Fn() -> Option<Duration>,
    error: impl Fn(GivenUp) -> CallError,
) -> Result<Opaque<'a>, CallError> {
    let mut running = next.run();
    let mut timer = Timer::NotArmed;
    poll_fn(|cx| {
        if let Poll::Ready(result) = running.as_mut().poll(cx) {
            return Poll::Ready(result);
        }
        timer
            .poll(cx, call, &left)
            .map(|why| Err(call.signal().reason().map_or_else(|| error(why), CallError::aborted)))
    })
    .await
}

enum Timer {
    /// Nothing has been waited for yet: what is ready at once needs no timer.
    NotArmed,
    Armed(BoxFuture<'static, ()>),
    Unbounded,
}

impl Timer {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        call: &Call,
        left: impl Fn() -> Option<Duration>,
    ) -> Poll<GivenUp> {
        if let Self::NotArmed = self {
            *self = match left() {
                None => Self::Unbounded,
                // A timer of no duration would let what waits run once more.
                Some(Duration::ZERO) => return Poll::Ready(GivenUp::Late),
                Some(left) => match call.sleep(left) {
                    Some(sleep) => Self::Armed(sleep),
                    None => return Poll::Ready(GivenUp::NoTimer),
                },
            };
        }
        match self {
            Self::Armed(sleep) => sleep.as_mut().poll(cx).map(|()| GivenUp::Late),
            Self::NotArmed | Self::Unbounded => Poll::Pending,
        }
    }
}
