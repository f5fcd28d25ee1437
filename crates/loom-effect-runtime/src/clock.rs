//! Time as the runtime sees it, replaceable in tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::{BoxFuture, FutureExt};

/// Where the runtime takes time from.
pub trait Clock: Send + Sync + 'static {
    /// Unix time in milliseconds: told, never compared.
    fn now_ms(&self) -> u64;

    /// Time since a fixed point of this process, which never goes back: what ages and remaining times are compared by.
    /// It keeps pace with [`sleep`](Self::sleep).
    fn monotonic(&self) -> Duration;

    /// A future that is ready after `duration`, or `None` where there is no timer: then a waiting step is refused.
    fn sleep(&self, duration: Duration) -> Option<BoxFuture<'static, ()>>;
}

/// The default clock: the system's time and tokio's timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        static START: OnceLock<tokio::time::Instant> = OnceLock::new();
        let start = *START.get_or_init(tokio::time::Instant::now);
        tokio::time::Instant::now().saturating_duration_since(start)
    }

    fn sleep(&self, duration: Duration) -> Option<BoxFuture<'static, ()>> {
        tokio::runtime::Handle::try_current().ok()?;
        // A runtime built without its timer panics here; that is the same answer as no timer.
        catch_unwind(AssertUnwindSafe(|| tokio::time::sleep(duration).boxed())).ok()
    }
}
