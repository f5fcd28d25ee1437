//! Timeout on a real runtime, in virtual time.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

#[path = "live/clocks.rs"]
mod clocks;
#[path = "live/view.rs"]
mod view;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use loom_effect_runtime::{
    AbortError, AbortReason, Around, CallError, CallReport, EffectRuntime, ErrorName, Refusal, RetryAdvice,
    Signal, Step, inspect,
};
use loom_middleware::{Retry, Timeout};
use loom_testing::{Act, Scripted, VirtualClock};
use proptest::prelude::*;
use tokio::time::Instant;

use clocks::Counted;
use view::View;

type Script = Scripted<String, ()>;

const SECOND: Duration = Duration::from_secs(1);
/// A timer fires on the millisecond at or after its time.
const TIMER_GRAIN: Duration = Duration::from_millis(1);

/// What came of one call.
struct Played {
    result: Result<String, CallError>,
    report: CallReport,
    view: String,
    took: Duration,
}

async fn call(runtime: &EffectRuntime) -> Played {
    let (tool, view) = (runtime.tool::<(), String>("scripted").unwrap(), View::default());
    let began = Instant::now();
    let (result, report) = runtime.invoke_transient(tool, ()).on_delta_sink(view.clone()).reported().await;
    Played { result, report, view: view.text(), took: began.elapsed() }
}

fn runtime(effect: &Script, arounds: impl IntoIterator<Item = Box<dyn Around>>) -> EffectRuntime {
    let builder = EffectRuntime::builder().allow_all_calls().effect(effect.clone());
    arounds.into_iter().fold(builder, |builder, around| builder.around(around)).build().unwrap()
}

fn boxed(around: impl Around) -> Box<dyn Around> {
    Box::new(around)
}

fn sleeps(duration: Duration) -> Script {
    Script::new([Act::Sleep(duration), Act::text("done")])
}

#[tokio::test(start_paused = true)]
async fn at_the_limit_what_runs_is_dropped_and_the_call_fails() {
    let effect = Script::new([Act::text("half"), Act::Park]);
    let played = call(&runtime(&effect, [boxed(Timeout::after(SECOND))])).await;
    let error = played.result.unwrap_err();
    assert_eq!(error.name(), ErrorName::DeadlineExceeded);
    assert_eq!(error.to_string(), "timeout: not done within 1s");
    assert!(!error.is_refusal());
    assert!(played.took >= SECOND && played.took <= SECOND + TIMER_GRAIN, "{:?}", played.took);
    assert_eq!((effect.executions(), effect.dropped(), played.view.as_str()), (1, 1, "half"));
}

proptest! {
    /// For all limits and durations: what is done by the limit stands, what is not is dropped at it.
    #[test]
    fn what_is_done_by_the_limit_stands(limit in 0_u64..20, takes in 0_u64..20) {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let effect = sleeps(Duration::from_millis(takes));
        let runtime = runtime(&effect, [boxed(Timeout::after(Duration::from_millis(limit)))]);
        let result = tokio.block_on(call(&runtime)).result;
        // What waits has to be polled again, and a limit of zero lets nothing that waits run.
        prop_assert_eq!(result.is_ok(), takes == 0 || takes <= limit);
        prop_assert_eq!(effect.dropped(), usize::from(result.is_err()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_ready_arms_no_timer() {
    for (effect, timers) in [
        (Script::new([Act::text("done")]).ready_lane(), 0),
        (Script::new([Act::text("done")]), 0),
        (Script::new([Act::Yield, Act::Yield, Act::text("done")]), 1),
    ] {
        let clock = Counted::default();
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .clock(clock.clone())
            .around(Timeout::after(SECOND))
            .effect(effect)
            .build()
            .unwrap();
        assert_eq!(call(&runtime).await.result.unwrap(), "done");
        assert_eq!((clock.sleeps(), clock.told()), (timers, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_zero_lets_nothing_run_that_waits() {
    let timeout = || boxed(Timeout::after(Duration::ZERO));
    let ready = Script::new([Act::text("done")]);
    assert_eq!(call(&runtime(&ready, [timeout()])).await.result.unwrap(), "done");
    let waits = Script::new([Act::Yield, Act::text("done")]);
    let played = call(&runtime(&waits, [timeout()])).await;
    assert_eq!(played.result.unwrap_err().name(), ErrorName::DeadlineExceeded);
    assert_eq!((waits.executions(), waits.dropped(), played.view.as_str()), (1, 1, ""));
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_have_another_limit_or_none() {
    let timeout = Timeout::after(SECOND).tool("scripted", SECOND * 60);
    let effect = sleeps(SECOND * 30);
    assert!(call(&runtime(&effect, [boxed(timeout)])).await.result.is_ok());
    let unbounded = Timeout::after(SECOND).tool_unbounded("scripted");
    assert!(call(&runtime(&sleeps(SECOND * 100_000), [boxed(unbounded)])).await.result.is_ok());
    let other = Timeout::after(SECOND).tool_unbounded("other");
    assert!(call(&runtime(&effect, [boxed(other)])).await.result.is_err());
}

/// D11: behind a retry each attempt has the limit; the next one begins with a reset, and the fold is the output.
#[tokio::test(start_paused = true)]
async fn behind_a_retry_it_bounds_each_attempt() {
    let effect = Script::new([Act::text("half"), Act::Park])
        .then([Act::text("again"), Act::Park])
        .then([Act::Sleep(SECOND), Act::text("whole")]);
    let played = call(&runtime(&effect, [boxed(Retry::new()), boxed(Timeout::after(SECOND))])).await;
    assert_eq!(played.result.unwrap(), "whole");
    assert_eq!(played.view, "half<2>again<3>whole.");
    assert_eq!((played.report.attempts, effect.dropped()), (3, 2));
    assert!(played.report.streamed && played.report.checked && played.took >= SECOND * 3);
}

#[tokio::test(start_paused = true)]
async fn in_front_of_a_retry_it_bounds_all_attempts_and_their_pauses() {
    let effect = Script::new([Act::text("half"), Act::Sleep(SECOND), Act::Fail(ErrorName::Provider)]);
    let hour = SECOND * 3600;
    let retry = Retry::new().seed(1).backoff(hour, hour);
    let played = call(&runtime(&effect, [boxed(Timeout::after(SECOND * 5)), boxed(retry)])).await;
    assert_eq!(played.result.unwrap_err().to_string(), "timeout: not done within 5s");
    assert_eq!((effect.executions(), effect.dropped(), played.view.as_str()), (1, 0, "half"));
    assert!(played.took >= SECOND * 5 && played.took <= SECOND * 5 + TIMER_GRAIN, "{:?}", played.took);
}

#[tokio::test(start_paused = true)]
async fn one_for_the_attempt_and_one_for_the_call_hold_together() {
    let effect = Script::new([Act::Park]);
    let arounds = [
        boxed(Timeout::after(SECOND * 5)),
        boxed(Retry::new().attempts(100).backoff(Duration::ZERO, Duration::ZERO)),
        boxed(Timeout::after(SECOND * 2)),
    ];
    let played = call(&runtime(&effect, arounds)).await;
    assert_eq!(played.result.unwrap_err().to_string(), "timeout: not done within 5s");
    assert_eq!((effect.executions(), effect.dropped()), (3, 3));
}

/// D16: what a writer of a dropped attempt sends later reaches nobody.
#[tokio::test(start_paused = true)]
async fn a_late_writer_of_a_dropped_attempt_reaches_nobody() {
    let handles = Arc::default();
    let pump = Act::Pump(Arc::clone(&handles));
    let (late, answers) = (Arc::clone(&handles), Arc::<Mutex<Vec<bool>>>::default());
    let told = Arc::clone(&answers);
    let write = Act::with(move |_| {
        let handles = late.lock().unwrap();
        told.lock().unwrap().push(handles.first().unwrap().text("late").is_err());
    });
    let effect = Script::new([Act::text("half"), pump, Act::Park]).then([write, Act::text("whole")]);
    let played = call(&runtime(&effect, [boxed(Retry::new()), boxed(Timeout::after(SECOND))])).await;
    assert_eq!((played.result.unwrap().as_str(), played.view.as_str()), ("whole", "half<2>whole."));
    assert_eq!(*answers.lock().unwrap(), [true]);
}

/// D15: a sever in the poll that finds the limit over stands, and nothing tries again.
#[tokio::test(start_paused = true)]
async fn a_sever_at_the_limit_wins() {
    let effect = Script::new([Act::text("ok"), Act::Sleep(SECOND), Act::swallow("bad"), Act::Park]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new().when(|_| true))
        .around(Timeout::after(SECOND))
        .middleware(severs_at::Budget(2))
        .effect(effect.clone())
        .build()
        .unwrap();
    let played = call(&runtime).await;
    assert_eq!(played.result.unwrap_err().violation().unwrap().rule(), "budget");
    assert_eq!((effect.executions(), played.view.as_str()), (1, "ok"));
}

mod severs_at {
    use loom_effect_runtime::{CallInfo, DeltaKind, Meter, MeterForm, Middleware, Violation};

    /// Severs beyond so many bytes.
    pub(super) struct Budget(pub(super) usize);

    impl Middleware for Budget {
        fn name(&self) -> &str {
            "budget"
        }

        fn meter(&self) -> Option<&dyn MeterForm> {
            Some(self)
        }
    }

    impl MeterForm for Budget {
        fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
            Box::new(Self(self.0))
        }
    }

    impl Meter for Budget {
        fn observe(&mut self, _kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
            self.0 = self.0.checked_sub(bytes).ok_or_else(|| Violation::quota("budget"))?;
            Ok(())
        }
    }
}

/// T11: a refusal in the poll that finds the limit over stands, and nothing tries again.
#[tokio::test(start_paused = true)]
async fn a_refusal_at_the_limit_wins() {
    let effect = sleeps(SECOND);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new().when(|_| true))
        .around(Timeout::after(SECOND))
        .output_middleware(inspect("judge", None, |_, _| Step::Deny(Refusal::safety("judge"))))
        .effect(effect.clone())
        .build()
        .unwrap();
    assert_eq!(call(&runtime).await.result.unwrap_err().rule(), Some("judge"));
    assert_eq!(effect.executions(), 1);
}

/// D8: an abort at the very limit gives the aborter's own error, wherever the call waits.
#[test]
fn an_abort_at_the_limit_wins() {
    let hour = SECOND * 3600;
    let fails = Script::new([Act::Fail(ErrorName::Provider)]);
    let retry = || Retry::new().seed(1).backoff(hour, hour);
    for effect in [sleeps(hour), fails] {
        let clock = VirtualClock::new();
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .clock(clock.clone())
            .around(Timeout::after(SECOND))
            .around(retry())
            .effect(effect)
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
}

/// D8: an abort before the limit ends the call at once.
#[tokio::test(start_paused = true)]
async fn an_abort_ends_what_runs_under_a_limit() {
    let effect = Script::new([Act::Park]);
    let runtime = runtime(&effect, [boxed(Timeout::after(SECOND * 60))]);
    let (signal, aborter) = (Signal::new(), Signal::new());
    let raised = signal.clone();
    tokio::spawn(async move {
        tokio::time::sleep(SECOND).await;
        raised.abort_with(AbortError::new());
    });
    let began = Instant::now();
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    let call = runtime.invoke_transient(tool, ()).signal(aborter).signal(signal);
    assert_eq!(call.await.unwrap_err().name(), ErrorName::Abort);
    assert!(began.elapsed() <= SECOND + TIMER_GRAIN && effect.dropped() == 1);
}

#[test]
fn a_caller_that_goes_away_leaves_no_timer_behind() {
    let (clock, effect) = (VirtualClock::new(), Script::new([Act::Park]));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .clock(clock.clone())
        .around(Timeout::after(SECOND))
        .effect(effect.clone())
        .build()
        .unwrap();
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    let mut call = Box::pin(runtime.invoke_transient(tool, ()).into_future());
    assert!((&mut call).now_or_never().is_none());
    assert_eq!((clock.sleepers(), effect.dropped()), (1, 0));
    drop(call);
    assert_eq!((clock.sleepers(), effect.dropped()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn without_a_timer_what_waits_is_given_up_at_once() {
    let clock = Counted::without_timer();
    let with = |effect: &Script| {
        EffectRuntime::builder()
            .allow_all_calls()
            .clock(clock.clone())
            .around(Retry::new())
            .around(Timeout::after(SECOND))
            .effect(effect.clone())
            .build()
            .unwrap()
    };
    let waits = Script::new([Act::Yield, Act::text("done")]);
    let played = call(&with(&waits)).await;
    let error = played.result.unwrap_err();
    assert_eq!((error.name(), error.retry_advice()), (ErrorName::DeadlineExceeded, Some(RetryAdvice::Never)));
    assert_eq!((waits.executions(), waits.dropped(), played.took), (1, 1, Duration::ZERO));
    assert_eq!(call(&with(&Script::new([Act::text("done")]))).await.result.unwrap(), "done");
}
