//! The deadline around what already runs.

use std::sync::Arc;

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};

use super::policy::{gave_up, passed};
use super::state::State;
use crate::timed::within;

/// Drops what runs when the deadline passes, and runs nothing after it.
///
/// What runs is dropped at its next await, so an effect that never awaits is not reached; what is ready in the poll that
/// finds the deadline passed stands, and an abort wins over it. A timer is armed only for what waits. Where the
/// runtime's clock has no timer, what waits is refused at once under the rule `deadline.no_timer`: a deadline that
/// nobody could keep is none, so it fails closed.
///
/// # Cancel safety
/// Dropping the call drops what runs and the timer.
pub struct DeadlineRunning(Arc<State>);

impl DeadlineRunning {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self(state)
    }
}

impl Around for DeadlineRunning {
    fn name(&self) -> &str {
        "deadline.running"
    }

    fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            let left = || self.0.begin(call.monotonic());
            if left().is_zero() {
                return Err(passed().into());
            }
            within(call, next, || Some(left()), |why| gave_up(why).into()).await
        })
    }
}

impl std::fmt::Debug for DeadlineRunning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DeadlineRunning").field(&self.0).finish()
    }
}
