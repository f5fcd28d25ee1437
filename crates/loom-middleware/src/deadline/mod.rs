//! Deadline: a budget of time that many calls share, such as an agent's whole run.

mod policy;
mod running;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{Call, Clock, Input, Middleware, Step};

pub use policy::DEADLINE_RULE;
use policy::passed;
pub use running::DeadlineRunning;
use state::State;

/// Ends calls once a time that they share is over. A cheap handle: clones share the deadline; register one, keep
/// another.
///
/// | registered as | what it stops |
/// | --- | --- |
/// | [`Middleware`] | a call that begins after the deadline, before the effect runs |
/// | [`Around`](loom_effect_runtime::Around), by [`Deadline::running`] | what runs when the deadline passes, and attempts that begin after it |
///
/// The time begins with the first call that reaches either, or at [`Deadline::start`]. It is compared on the
/// monotonic time of the runtime's clock, never on Unix time, so all runtimes that share a deadline share a clock.
/// The exact moment of the deadline is past it: a limit of zero refuses every call.
///
/// The error is a refusal, `DeadlineExceededError` with the rule [`DEADLINE_RULE`], the same at the door and in the
/// middle: nothing retries it, whatever a [`Retry`](crate::Retry) was told (spec row T11).
///
/// It lives in this process and does not survive it: the deadline of an execution is its own
/// (`ExecutionCancelledError` of kind `deadline`).
///
/// ```
/// use loom_effect_runtime::TokioClock;
/// use loom_middleware::Deadline;
/// use std::time::Duration;
///
/// let deadline = Deadline::within(Duration::from_secs(300));
/// assert_eq!(deadline.remaining(&TokioClock), Duration::from_secs(300), "it has not begun");
/// assert!(deadline.start(&TokioClock));
/// assert!(!deadline.start(&TokioClock), "a deadline begins once");
/// assert!(!deadline.is_past(&TokioClock));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Deadline(Arc<State>);

impl Deadline {
    /// A deadline `limit` after it begins.
    pub fn within(limit: Duration) -> Self {
        Self(Arc::new(State::new(limit)))
    }

    /// Begins the time now, by the runtime's clock. Whether it had not begun before: a deadline begins once.
    pub fn start(&self, clock: &dyn Clock) -> bool {
        self.0.start(clock.monotonic())
    }

    /// How much time is left; all of it where it has not begun.
    #[must_use]
    pub fn remaining(&self, clock: &dyn Clock) -> Duration {
        self.0.left(clock.monotonic())
    }

    /// Whether the deadline has passed.
    #[must_use]
    pub fn is_past(&self, clock: &dyn Clock) -> bool {
        self.remaining(clock).is_zero()
    }

    /// The deadline for what already runs: register it with [`around`](loom_effect_runtime::RuntimeBuilder::around), in
    /// front of a retry, so that pauses end at it too.
    pub fn running(&self) -> DeadlineRunning {
        DeadlineRunning::new(Arc::clone(&self.0))
    }
}

impl Middleware for Deadline {
    fn name(&self) -> &str {
        DEADLINE_RULE
    }

    #[inline]
    fn before(&self, call: &Call, _input: &Input) -> Step {
        if self.0.begin(call.monotonic()).is_zero() { Step::Deny(passed()) } else { Step::Go }
    }
}

impl std::fmt::Debug for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Deadline").field(&self.0).finish()
    }
}
