//! A clock that a test moves by hand.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::Clock;

/// The Unix time, in milliseconds, at which a virtual clock begins.
pub const VIRTUAL_START_MS: u64 = 1_700_000_000_000;

/// Time that stands still until the test moves it. It needs no async runtime; clones are the same clock.
///
/// ```
/// use loom_effect_runtime::Clock;
/// use loom_testing::VirtualClock;
/// use std::time::Duration;
///
/// let clock = VirtualClock::new();
/// let mut nap = clock.sleep(Duration::from_secs(5)).expect("it has a timer");
/// assert!(futures::FutureExt::now_or_never(&mut nap).is_none());
/// assert_eq!(clock.sleepers(), 1);
/// clock.advance(Duration::from_secs(5));
/// assert!(futures::FutureExt::now_or_never(nap).is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<Mutex<Time>>);

#[derive(Debug, Default)]
struct Time {
    now: Duration,
    next: u64,
    sleepers: Vec<Sleeper>,
}

impl Time {
    fn waiting(&self) -> impl Iterator<Item = &Sleeper> {
        self.sleepers.iter().filter(|sleeper| sleeper.until > self.now)
    }
}

#[derive(Debug)]
struct Sleeper {
    number: u64,
    until: Duration,
    waker: Option<Waker>,
}

impl VirtualClock {
    /// A clock at [`VIRTUAL_START_MS`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves time on and wakes whoever slept until then, in the order of their times.
    pub fn advance(&self, by: Duration) {
        let mut time = self.time();
        time.now = time.now.saturating_add(by);
        let now = time.now;
        let mut due: Vec<_> = time.sleepers.iter_mut().filter(|sleeper| sleeper.until <= now).collect();
        due.sort_by_key(|sleeper| (sleeper.until, sleeper.number));
        let wakers: Vec<Waker> = due.into_iter().filter_map(|sleeper| sleeper.waker.take()).collect();
        drop(time);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Moves time to the next sleeper's end and tells how far that was; `None` where nobody sleeps.
    pub fn advance_to_next(&self) -> Option<Duration> {
        let time = self.time();
        let until = time.waiting().map(|sleeper| sleeper.until).min()?;
        let by = until.saturating_sub(time.now);
        drop(time);
        self.advance(by);
        Some(by)
    }

    /// How many sleeps have been begun and are neither over nor dropped.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.time().waiting().count()
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        let since = u64::try_from(self.time().now.as_millis()).unwrap_or(u64::MAX);
        VIRTUAL_START_MS.saturating_add(since)
    }

    fn monotonic(&self) -> Duration {
        self.time().now
    }

    fn sleep(&self, duration: Duration) -> Option<BoxFuture<'static, ()>> {
        let mut time = self.time();
        let (number, until) = (time.next, time.now.saturating_add(duration));
        time.next += 1;
        time.sleepers.push(Sleeper { number, until, waker: None });
        Some(Box::pin(Sleep { clock: self.clone(), number }))
    }
}

struct Sleep {
    clock: VirtualClock,
    number: u64,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut time = self.clock.time();
        let now = time.now;
        match time.sleepers.iter_mut().find(|sleeper| sleeper.number == self.number) {
            Some(sleeper) if sleeper.until > now => {
                sleeper.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.time().sleepers.retain(|sleeper| sleeper.number != self.number);
    }
}
