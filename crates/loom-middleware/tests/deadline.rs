//! Deadline on a real runtime, in virtual time.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

#[path = "live/clocks.rs"]
mod clocks;
#[path = "live/view.rs"]
mod view;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use loom_effect_runtime::{
    AbortError, AbortReason, CallError, Clock, EffectRuntime, ErrorName, Ready, RuntimeBuilder, Signal,
    TokioClock,
};
use loom_middleware::{DEADLINE_RULE, Deadline, Retry, Timeout};
use loom_testing::{Act, Scripted, VirtualClock};
use tokio::time::Instant;

use clocks::Counted;
use view::View;

type Script = Scripted<String, ()>;

const SECOND: Duration = Duration::from_secs(1);
/// A timer fires on the millisecond at or after its time.
const TIMER_GRAIN: Duration = Duration::from_millis(1);

fn builder() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

async fn call(runtime: &EffectRuntime) -> Result<String, CallError> {
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    runtime.invoke_transient(tool, ()).await
}

fn is_past(error: &CallError) -> bool {
    error.name() == ErrorName::DeadlineExceeded && error.rule() == Some(DEADLINE_RULE) && error.is_refusal()
}

/// D2, T11: after the deadline a call is refused before its effect, with and without a sink, and nothing retries it.
#[test]
fn a_call_that_begins_after_the_deadline_is_refused() {
    let (clock, deadline) = (VirtualClock::new(), Deadline::within(SECOND));
    let effect = Script::new([Act::text("done")]);
    let runtime = builder()
        .clock(clock.clone())
        .middleware(deadline.clone())
        .around(Retry::new().when(|_| true))
        .effect(effect.clone())
        .build()
        .unwrap();
    let play = |sink: Option<View>| {
        let tool = runtime.tool::<(), String>("scripted").unwrap();
        let call = runtime.invoke_transient(tool, ());
        match sink {
            Some(sink) => call.on_delta_sink(sink).into_future().now_or_never().unwrap(),
            None => call.into_future().now_or_never().unwrap(),
        }
    };
    assert!(play(None).is_ok(), "the first call begins it");
    clock.advance(SECOND - Duration::from_nanos(1));
    assert!(play(None).is_ok() && !deadline.is_past(&clock));
    clock.advance(Duration::from_nanos(1));
    assert!(deadline.is_past(&clock));
    let view = View::default();
    for sink in [None, Some(view.clone())] {
        assert!(is_past(&play(sink).unwrap_err()));
    }
    assert_eq!((effect.executions(), clock.sleepers(), view.text().as_str()), (2, 0, ""));
}

#[tokio::test(start_paused = true)]
async fn calls_share_one_budget_and_the_one_that_runs_at_its_end_is_dropped() {
    let deadline = Deadline::within(SECOND * 10);
    let effect = Script::new([Act::text("half"), Act::Sleep(SECOND * 4)]);
    let runtime = builder()
        .middleware(deadline.clone())
        .around(deadline.running())
        .effect(effect.clone())
        .build()
        .unwrap();
    let began = Instant::now();
    assert!(call(&runtime).await.is_ok() && call(&runtime).await.is_ok());
    assert!(is_past(&call(&runtime).await.unwrap_err()));
    let took = began.elapsed();
    assert!(took >= SECOND * 10 && took <= SECOND * 10 + 3 * TIMER_GRAIN, "{took:?}");
    assert_eq!((effect.executions(), effect.dropped()), (3, 1));
    assert!(is_past(&call(&runtime).await.unwrap_err()));
    assert_eq!((effect.executions(), deadline.remaining(&TokioClock)), (3, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn all_that_run_end_at_one_moment() {
    let deadline = Deadline::within(SECOND);
    let effect = Script::new([Act::Park]);
    let runtime = builder().around(deadline.running()).effect(effect.clone()).build().unwrap();
    let began = Instant::now();
    let results = join_all((0..64).map(|_| call(&runtime))).await;
    assert!(results.iter().all(|result| is_past(result.as_ref().unwrap_err())));
    assert!(began.elapsed() <= SECOND + TIMER_GRAIN);
    assert_eq!((effect.executions(), effect.dropped()), (64, 64));
}

/// T11: wherever the retry stands and whatever it was told, nothing runs again once the deadline has passed.
#[tokio::test(start_paused = true)]
async fn nothing_is_retried_once_it_has_passed() {
    let eager = || Retry::new().when(|_| true).backoff(Duration::ZERO, Duration::ZERO);
    for in_front in [false, true] {
        let deadline = Deadline::within(SECOND);
        let effect = Script::new([Act::Park]);
        let builder = builder().effect(effect.clone());
        let runtime = match in_front {
            true => builder.around(deadline.running()).around(eager()),
            false => builder.around(eager()).around(deadline.running()),
        };
        assert!(is_past(&call(&runtime.build().unwrap()).await.unwrap_err()));
        assert_eq!((effect.executions(), effect.dropped()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_a_retry_ends_at_it_or_is_followed_by_nothing() {
    let hour = SECOND * 3600;
    for in_front in [false, true] {
        let deadline = Deadline::within(SECOND);
        let effect = Script::new([Act::Fail(ErrorName::Provider)]);
        let (builder, retry) = (builder().effect(effect.clone()), Retry::new().seed(1).backoff(hour, hour));
        let runtime = match in_front {
            true => builder.around(deadline.running()).around(retry),
            false => builder.around(retry).around(deadline.running()),
        };
        let began = Instant::now();
        assert!(is_past(&call(&runtime.build().unwrap()).await.unwrap_err()));
        assert_eq!(effect.executions(), 1);
        assert_eq!(began.elapsed() <= SECOND + TIMER_GRAIN, in_front, "{:?}", began.elapsed());
    }
}

/// A timeout of one attempt is tried again; the deadline over it is not.
#[tokio::test(start_paused = true)]
async fn it_ends_the_attempts_that_a_timeout_begins() {
    let deadline = Deadline::within(SECOND * 5);
    let effect = Script::new([Act::Park]);
    let runtime = builder()
        .around(deadline.running())
        .around(Retry::new().attempts(100).backoff(Duration::ZERO, Duration::ZERO))
        .around(Timeout::after(SECOND * 2))
        .effect(effect.clone())
        .build()
        .unwrap();
    assert!(is_past(&call(&runtime).await.unwrap_err()));
    assert_eq!((effect.executions(), effect.dropped()), (3, 3));
}

#[test]
fn what_is_done_at_the_very_moment_stands() {
    let (clock, deadline) = (VirtualClock::new(), Deadline::within(SECOND));
    let effect = Script::new([Act::Sleep(SECOND), Act::text("done")]);
    let runtime =
        builder().clock(clock.clone()).around(deadline.running()).effect(effect.clone()).build().unwrap();
    let mut running = Box::pin(call(&runtime));
    assert!((&mut running).now_or_never().is_none());
    clock.advance(SECOND);
    assert!(deadline.is_past(&clock));
    assert_eq!(running.now_or_never().unwrap().unwrap(), "done");
    assert!(is_past(&call(&runtime).now_or_never().unwrap().unwrap_err()));
    assert_eq!(effect.executions(), 1);
}

#[test]
fn it_begins_where_it_is_started_and_only_once() {
    let (clock, deadline) = (VirtualClock::new(), Deadline::within(SECOND * 10));
    clock.advance(SECOND * 100);
    assert_eq!(deadline.remaining(&clock), SECOND * 10);
    assert!(deadline.start(&clock) && !deadline.start(&clock));
    clock.advance(SECOND * 4);
    assert_eq!(deadline.remaining(&clock), SECOND * 6);
    let runtime = builder()
        .clock(clock.clone())
        .middleware(deadline.clone())
        .effect(Script::new([Act::text("done")]))
        .build()
        .unwrap();
    assert!(call(&runtime).now_or_never().unwrap().is_ok());
    assert_eq!(deadline.remaining(&clock), SECOND * 6, "a call does not begin it again");
    clock.advance(SECOND * 6);
    assert!(!deadline.start(&clock) && deadline.is_past(&clock));
    assert!(is_past(&call(&runtime).now_or_never().unwrap().unwrap_err()));
}

#[tokio::test]
async fn a_limit_of_zero_refuses_every_call() {
    let deadline = Deadline::within(Duration::ZERO);
    let effect = Script::new([Act::text("done")]);
    for runtime in [
        builder().middleware(deadline.clone()).effect(effect.clone()),
        builder().around(deadline.running()).effect(effect.clone()),
    ] {
        assert!(is_past(&call(&runtime.build().unwrap()).await.unwrap_err()));
    }
    assert_eq!(effect.executions(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_timer_what_waits_is_refused_at_once() {
    let with = |effect: &Script| {
        let deadline = Deadline::within(SECOND);
        builder()
            .clock(Counted::without_timer())
            .middleware(deadline.clone())
            .around(Retry::new().when(|_| true))
            .around(deadline.running())
            .effect(effect.clone())
            .build()
            .unwrap()
    };
    let waits = Script::new([Act::Yield, Act::text("done")]);
    let error = call(&with(&waits)).await.unwrap_err();
    assert_eq!((error.name(), error.rule()), (ErrorName::DeadlineExceeded, Some("deadline.no_timer")));
    assert_eq!((waits.executions(), waits.dropped()), (1, 1));
    assert!(call(&with(&Script::new([Act::text("done")]))).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn unix_time_is_never_asked_for() {
    let (clock, deadline) = (Counted::default(), Deadline::within(SECOND));
    let runtime = builder()
        .clock(clock.clone())
        .middleware(deadline.clone())
        .around(deadline.running())
        .effect(Script::new([Act::Yield]).then([Act::Park]))
        .build()
        .unwrap();
    assert!(call(&runtime).await.is_ok() && !deadline.is_past(&clock));
    assert_eq!((clock.told(), clock.sleeps()), (0, 1));
}

/// D8: an abort in the poll that finds the deadline passed gives the aborter's own error.
#[test]
fn an_abort_at_the_deadline_wins() {
    let (clock, deadline) = (VirtualClock::new(), Deadline::within(SECOND));
    let hour = SECOND * 3600;
    let runtime = builder()
        .clock(clock.clone())
        .around(deadline.running())
        .around(Retry::new().seed(1).backoff(hour, hour))
        .effect(Script::new([Act::Fail(ErrorName::Provider)]))
        .build()
        .unwrap();
    let (signal, reason) = (Signal::new(), Arc::new(AbortError::new()) as AbortReason);
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    let mut call = Box::pin(runtime.invoke_transient(tool, ()).signal(signal.clone()).into_future());
    assert!((&mut call).now_or_never().is_none());
    clock.advance(SECOND);
    signal.abort(Arc::clone(&reason));
    let error = call.now_or_never().unwrap().unwrap_err();
    assert!(Arc::ptr_eq(&error.abort_reason().unwrap(), &reason), "{error:?}");
}

#[test]
fn a_caller_that_goes_away_leaves_no_timer_behind() {
    let (clock, deadline) = (VirtualClock::new(), Deadline::within(SECOND));
    let effect = Script::new([Act::Park]);
    let runtime =
        builder().clock(clock.clone()).around(deadline.running()).effect(effect.clone()).build().unwrap();
    let mut running = Box::pin(call(&runtime));
    assert!((&mut running).now_or_never().is_none());
    assert_eq!((clock.sleepers(), clock.monotonic()), (1, Duration::ZERO));
    drop(running);
    assert_eq!((clock.sleepers(), effect.dropped(), deadline.remaining(&clock)), (0, 1, SECOND));
}

/// D6: what was shown stays as it is: nothing is delivered once the deadline has ended the call.
#[tokio::test(start_paused = true)]
async fn nothing_is_delivered_behind_the_deadline() {
    let (deadline, view, handles) = (Deadline::within(SECOND), View::default(), Arc::default());
    let effect = Script::new([Act::text("half"), Act::Pump(Arc::clone(&handles)), Act::Park]);
    let runtime = builder().around(Retry::new()).around(deadline.running()).effect(effect).build().unwrap();
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    let error = runtime.invoke_transient(tool, ()).on_delta_sink(view.clone()).await.unwrap_err();
    assert!(is_past(&error));
    assert!(handles.lock().unwrap().first().unwrap().text("late").is_err());
    assert_eq!(view.text(), "half");
}
