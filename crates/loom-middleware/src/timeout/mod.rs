//! Timeout: what runs behind it has so long.

mod policy;
#[cfg(test)]
mod tests;

use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};

use crate::timed::within;
use policy::{Limits, gave_up};

/// Gives each run of what is registered behind it so long, and drops it then.
///
/// The call, or the attempt, fails with `DeadlineExceededError`, whose message names the limit and nothing else.
///
/// # Where to register it
/// Behind a [`Retry`](crate::Retry) it bounds each attempt, and the default policy of the retry tries again. In front of
/// one it bounds all attempts and the pauses between them together. Both may be registered at once.
///
/// # Contract
/// - The time begins when what is behind it is first polled without being ready: an attempt that is ready at once arms
///   no timer and pays for none.
/// - At the limit what runs is dropped at its await; code that never awaits is not reached. What is ready in that very
///   poll stands: an output, a refusal, a sever. An abort wins over the limit too.
/// - A limit of zero lets nothing run that waits.
/// - What an attempt showed before the limit stays in the live view until the next attempt begins with a reset (spec row
///   D11).
/// - Where the runtime's clock has no timer, what waits is given up at once: a limit that nobody could keep is no
///   limit, so it fails closed. Such a failure advises never.
///
/// # Cancel safety
/// Dropping the call drops what runs and the timer.
#[derive(Clone, Debug)]
#[must_use]
pub struct Timeout {
    limits: Limits,
}

impl Timeout {
    /// Gives the runs of every tool `limit`.
    pub fn after(limit: Duration) -> Self {
        Self { limits: Limits::of_all(limit) }
    }

    /// Gives the runs of one tool another limit. What is said last of a tool stands.
    pub fn tool(mut self, tool: impl Into<Box<str>>, limit: Duration) -> Self {
        self.limits.set(tool.into(), Some(limit));
        self
    }

    /// Gives the runs of one tool no limit.
    pub fn tool_unbounded(mut self, tool: impl Into<Box<str>>) -> Self {
        self.limits.set(tool.into(), None);
        self
    }
}

impl Around for Timeout {
    fn name(&self) -> &str {
        "timeout"
    }

    fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        let limit = || self.limits.of(call.tool());
        Box::pin(within(call, next, limit, move |why| gave_up(why, limit())))
    }
}
