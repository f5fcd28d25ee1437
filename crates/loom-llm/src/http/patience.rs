//! How long a request and its reply are waited for.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::error::Awaited;

/// The clock of one exchange.
#[derive(Debug)]
pub(super) struct Patience {
    started: Instant,
    total: Option<Duration>,
}

/// What was waited for, and for how long.
pub(super) type Exhausted = (Awaited, Duration);

impl Patience {
    pub(super) fn starting(total: Option<Duration>) -> Self {
        Self { started: Instant::now(), total }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits for the future up to the limit, and never beyond the limit of the whole exchange. What is ready at once
    /// is taken even after it.
    pub(super) async fn wait<F: Future>(
        &self,
        awaited: Awaited,
        limit: Duration,
        future: F,
    ) -> Result<F::Output, Exhausted> {
        let whole = self.total.map(|total| (total, total.saturating_sub(self.elapsed())));
        let (wait, exhausted) = match whole {
            Some((total, left)) if left < limit => (left, (Awaited::WholeReply, total)),
            _ => (limit, (awaited, limit)),
        };
        timeout(wait, future).await.map_err(|_| exhausted)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_nearer_limit_ends_the_wait_and_is_the_one_named() {
        let patience = Patience::starting(Some(5 * SECOND));
        for (limit, expected) in [
            (2 * SECOND, (Awaited::NextByte, 2 * SECOND)),
            (3 * SECOND, (Awaited::NextByte, 3 * SECOND)),
            (2 * SECOND, (Awaited::WholeReply, 5 * SECOND)),
        ] {
            let waited = patience.wait(Awaited::NextByte, limit, pending::<()>()).await;
            assert_eq!(waited, Err(expected));
        }
        assert_eq!(patience.elapsed(), 5 * SECOND, "no wait went beyond the limit of the whole");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_ready_is_taken_after_the_limit_too_and_no_limit_is_too_long() {
        let patience = Patience::starting(Some(SECOND));
        tokio::time::advance(2 * SECOND).await;
        assert_eq!(patience.wait(Awaited::NextByte, SECOND, ready(7)).await, Ok(7));
        let endless = Patience::starting(Some(Duration::MAX));
        assert_eq!(endless.wait(Awaited::NextByte, Duration::MAX, ready(7)).await, Ok(7));
        let unbounded = Patience::starting(None);
        let waited = unbounded.wait(Awaited::NextByte, 9 * SECOND, pending::<()>()).await;
        assert_eq!(waited, Err((Awaited::NextByte, 9 * SECOND)));
    }
}
