//! When the deadline began, readable from every call at the price of one atomic load.

use std::sync::OnceLock;
use std::time::Duration;

use super::policy::left;

/// A limit and its beginning, on the monotonic time of the runtime's clock.
#[derive(Debug)]
pub(super) struct State {
    limit: Duration,
    began: OnceLock<Duration>,
}

impl State {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, began: OnceLock::new() }
    }

    /// Begins at `now`, unless it has begun.
    pub(super) fn start(&self, now: Duration) -> bool {
        self.began.set(now).is_ok()
    }

    /// What is left at `now`, the first time asked of which begins it.
    #[inline]
    pub(super) fn begin(&self, now: Duration) -> Duration {
        left(self.limit, Some(*self.began.get_or_init(|| now)), now)
    }

    /// What is left at `now`; looking begins nothing.
    pub(super) fn left(&self, now: Duration) -> Duration {
        left(self.limit, self.began.get().copied(), now)
    }
}
