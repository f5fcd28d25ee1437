//! Time as the runtime sees it, replaceable in tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::{BoxFuture, FutureExt};

/// Where the runtime takes time from.
pub trait Clock: Send + Sync + 'static {
    /// Unix time in milliseconds: told, never compared.
    fn now_ms(&self) -> u64;

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

    fn sleep(&self, duration: Duration) -> Option<BoxFuture<'static, ()>> {
        tokio::runtime::Handle::try_current().ok()?;
        // A runtime built without its timer panics here; that is the same answer as no timer.
        catch_unwind(AssertUnwindSafe(|| tokio::time::sleep(duration).boxed())).ok()
    }
}
