//! A clock that counts what is asked of it, with a timer and without.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::{Clock, TokioClock};

/// Tokio's clock, counted. Clones count together.
#[derive(Clone, Default)]
pub(crate) struct Counted {
    sleeps: Arc<AtomicUsize>,
    told: Arc<AtomicUsize>,
    has_no_timer: bool,
}

impl Counted {
    pub(crate) fn without_timer() -> Self {
        Self { has_no_timer: true, ..Self::default() }
    }

    /// How often a timer was asked for.
    pub(crate) fn sleeps(&self) -> usize {
        self.sleeps.load(Ordering::SeqCst)
    }

    /// How often Unix time was asked for.
    pub(crate) fn told(&self) -> usize {
        self.told.load(Ordering::SeqCst)
    }
}

impl Clock for Counted {
    fn now_ms(&self) -> u64 {
        self.told.fetch_add(1, Ordering::SeqCst);
        TokioClock.now_ms()
    }

    fn monotonic(&self) -> Duration {
        TokioClock.monotonic()
    }

    fn sleep(&self, duration: Duration) -> Option<BoxFuture<'static, ()>> {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        if self.has_no_timer { None } else { TokioClock.sleep(duration) }
    }
}
