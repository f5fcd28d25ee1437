//! Futures watched poll by poll.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::{Duration, Instant};

/// What one poll may take, in real time, before it is said to block. A busy machine may stretch one poll; a subject that
/// blocks stretches them in every run, so a fault is what the quickest of [`RUNS`] shows.
pub(crate) const POLL_MAX: Duration = Duration::from_millis(200);
/// How often a slow poll is tried again before it is believed.
pub(crate) const RUNS: usize = 3;

/// A future's result, how many polls it took, and its longest.
pub(crate) struct Watched<T> {
    pub(crate) output: T,
    pub(crate) polls: usize,
    pub(crate) longest: Duration,
}

/// Awaits a future and watches its polls.
pub(crate) async fn watched<F: Future>(future: F) -> Watched<F::Output> {
    let mut future = Box::pin(future);
    let (mut polls, mut longest) = (0, Duration::ZERO);
    let output = poll_fn(|cx| {
        let began = Instant::now();
        let polled = future.as_mut().poll(cx);
        longest = longest.max(began.elapsed());
        polls += 1;
        polled
    })
    .await;
    Watched { output, polls, longest }
}

/// Polls a future at most so often, then drops it: a cancellation at one of its awaits. `None` where it was dropped.
pub(crate) async fn at_most<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = Some(Box::pin(future));
    let mut left = polls;
    poll_fn(move |cx| {
        if left == 0 {
            future = None;
        }
        let Some(running) = future.as_mut() else { return Poll::Ready(None) };
        left -= 1;
        match running.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => {
                future = None;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
