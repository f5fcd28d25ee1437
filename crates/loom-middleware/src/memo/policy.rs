//! How long an output is fresh, how long it may stand in for a failure, and the bounds.

use std::time::Duration;

/// The most outputs that a memo keeps; [`Memo::new`](super::Memo::new) is told how many.
pub const MEMO_CAPACITY_MAX: usize = 100_000;
/// How many keys are run for at once with others waiting, unless the memo says otherwise.
pub const FLIGHTS_DEFAULT: usize = 1024;
/// The most such keys that a memo can be given.
pub const FLIGHTS_MAX: usize = 65_536;
/// How many calls wait for one run, unless the memo says otherwise.
pub const FOLLOWERS_DEFAULT: usize = 64;
/// The most such calls that a memo can be given.
pub const FOLLOWERS_MAX: usize = 4096;

/// How long an output that was kept may be served. Its age counts from the end of its run.
///
/// ```
/// use loom_middleware::Ttl;
/// use std::time::Duration;
///
/// let fresh_for_a_minute = Ttl::from(Duration::from_secs(60));
/// let and_an_hour_where_the_tool_fails = fresh_for_a_minute.stale(Duration::from_secs(3600));
/// # let _ = and_an_hour_where_the_tool_fails;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Ttl {
    fresh: Duration,
    stale: Duration,
}

impl Ttl {
    /// Fresh while younger than `fresh`, and never served after that. With no time at all nothing is kept: calls that
    /// overlap still share one run.
    pub const fn new(fresh: Duration) -> Self {
        Self { fresh, stale: Duration::ZERO }
    }

    /// For so much longer it is served where a run in its place fails.
    pub const fn stale(self, window: Duration) -> Self {
        Self { stale: window, ..self }
    }

    /// What an output of that age is good for.
    pub(super) fn judge(self, age: Duration) -> Age {
        if age < self.fresh {
            Age::Fresh
        } else if age < self.fresh.saturating_add(self.stale) {
            Age::Stale
        } else {
            Age::Over
        }
    }
}

impl From<Duration> for Ttl {
    fn from(fresh: Duration) -> Self {
        Self::new(fresh)
    }
}

/// What a kept output is good for; the better comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Age {
    /// To be served at once.
    Fresh,
    /// To be served where a new run fails.
    Stale,
    /// For nothing.
    Over,
}
