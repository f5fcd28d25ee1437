//! Cancellation: a flag with the aborter's own reason, composed without allocation.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use tokio::sync::Notify;

use crate::error::AbortReason;

/// A one-shot cancellation flag with a reason. Clones share the flag; the first reason stands.
///
/// The caller's own error comes back pointer-equal from
/// [`CallError::abort_reason`](crate::CallError::abort_reason) (spec row T10).
#[derive(Clone, Default)]
pub struct Signal(Arc<Flag>);

#[derive(Default)]
struct Flag {
    raised: AtomicBool,
    reason: OnceLock<AbortReason>,
    notify: Notify,
}

impl Signal {
    /// A signal that nobody has raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the signal with a shared reason. Returns whether this call was the one that raised it.
    pub fn abort(&self, reason: AbortReason) -> bool {
        let first = self.0.reason.set(reason).is_ok();
        self.0.raised.store(true, Ordering::Release);
        self.0.notify.notify_waiters();
        first
    }

    /// Raises the signal with an error of one's own.
    pub fn abort_with(&self, reason: impl Error + Send + Sync + 'static) -> bool {
        self.abort(Arc::new(reason))
    }

    /// Whether the signal was raised.
    #[inline]
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.0.raised.load(Ordering::Acquire)
    }

    /// The reason, once raised.
    #[must_use]
    pub fn reason(&self) -> Option<AbortReason> {
        if self.is_aborted() { self.0.reason.get().cloned() } else { None }
    }

    /// Waits until the signal is raised. Cancel safe.
    pub async fn aborted(&self) -> AbortReason {
        loop {
            let mut raised = pin!(self.0.notify.notified());
            raised.as_mut().enable();
            if let Some(reason) = self.reason() {
                return reason;
            }
            raised.await;
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("aborted", &self.is_aborted()).finish()
    }
}

/// How many signals one call composes: the execution's, the decider's, the scope's.
pub(crate) const SIGNALS_MAX: usize = 3;

/// The composition of a call's signals (spec row D8): raised when any of them is.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    slots: [Option<Signal>; SIGNALS_MAX],
}

impl Signals {
    /// No signal at all: never raised.
    pub(crate) const fn none() -> Self {
        Self { slots: [None, None, None] }
    }

    /// Adds a signal. Returns false when all three places are taken.
    pub(crate) fn add(&mut self, signal: Signal) -> bool {
        match self.slots.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => {
                *slot = Some(signal);
                true
            }
            None => false,
        }
    }

    /// Whether there is no signal at all.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.slots, [None, ..])
    }

    /// Whether any of the signals was raised.
    #[inline]
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        // Places fill from the front, so that the usual call, which has none, is answered at once.
        !self.is_empty() && self.slots.iter().flatten().any(Signal::is_aborted)
    }

    /// The reason of the first raised signal: execution, then decider, then scope.
    #[must_use]
    pub fn reason(&self) -> Option<AbortReason> {
        self.slots.iter().flatten().find_map(Signal::reason)
    }

    /// Waits until one of them is raised. Cancel safe; for ever when there is none.
    pub async fn aborted(&self) -> AbortReason {
        let [first, second, third] = &self.slots;
        let mut first = pin!(raised(first.as_ref()));
        let mut second = pin!(raised(second.as_ref()));
        let mut third = pin!(raised(third.as_ref()));
        poll_fn(|cx| {
            for slot in [
                first.as_mut() as std::pin::Pin<&mut dyn Future<Output = _>>,
                second.as_mut(),
                third.as_mut(),
            ] {
                if let Poll::Ready(reason) = slot.poll(cx) {
                    return Poll::Ready(reason);
                }
            }
            Poll::Pending
        })
        .await
    }
}

async fn raised(signal: Option<&Signal>) -> AbortReason {
    match signal {
        Some(signal) => signal.aborted().await,
        None => std::future::pending().await,
    }
}
