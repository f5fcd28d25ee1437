//! Retry by what a failure advises, on a real runtime, in virtual time.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use loom_effect_runtime::{
    AbortError, CallError, Effect, EffectContext, EffectDelta, EffectRuntime, ErrorName, Refusal,
    RetryAdvice, Signal,
};
use loom_middleware::{DELAY_CAP_DEFAULT, DELAY_FIRST_DEFAULT, RETRY_AFTER_MAX_DEFAULT, Retry};
use tokio::time::Instant;

/// A timer fires on the millisecond at or after its time.
const TIMER_GRAIN: Duration = Duration::from_millis(1);

/// Fails with each error in turn, then answers; notes when each attempt began.
struct Fails {
    with: Vec<CallError>,
    began: Arc<Mutex<Vec<Instant>>>,
}

impl Effect for Fails {
    type Input = ();
    type Output = String;

    fn id(&self) -> &str {
        "fails"
    }

    async fn execute(&self, (): &(), cx: &EffectContext<'_>) -> Result<String, CallError> {
        self.began.lock().unwrap().push(Instant::now());
        match self.with.get(cx.attempt() as usize - 1) {
            Some(error) => {
                cx.deltas().text("half an ans")?;
                Err(error.clone())
            }
            None => {
                cx.deltas().text("answer")?;
                Ok("answer".to_owned())
            }
        }
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

/// What came of a call.
struct Played {
    result: Result<String, CallError>,
    /// From the end of each attempt to the next one.
    pauses: Vec<Duration>,
    took: Duration,
    /// Text as it is, `<n>` for a reset, `.` for done.
    view: String,
}

async fn play(retry: Retry, with: impl Into<Vec<CallError>>) -> Played {
    let (began, seen) = (Arc::<Mutex<Vec<Instant>>>::default(), Arc::<Mutex<String>>::default());
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(retry)
        .effect(Fails { with: with.into(), began: Arc::clone(&began) })
        .build()
        .unwrap();
    let tool = runtime.tool::<(), String>("fails").unwrap();
    let view = Arc::clone(&seen);
    let start = Instant::now();
    let call = runtime.invoke_transient(tool, ()).on_delta(move |delta| match delta {
        EffectDelta::Reset { attempt, .. } => view.lock().unwrap().push_str(&format!("<{attempt}>")),
        EffectDelta::Done { .. } => view.lock().unwrap().push('.'),
        delta => view.lock().unwrap().push_str(delta.text().unwrap_tainted()),
    });
    let result = call.await;
    let took = start.elapsed();
    let began = began.lock().unwrap();
    let pauses = began.iter().zip(began.iter().skip(1)).map(|(one, next)| *next - *one).collect();
    let view = seen.lock().unwrap().clone();
    Played { result, pauses, took, view }
}

/// A provider's answer 429 with its `retry-after`.
fn busy(after: Duration) -> CallError {
    CallError::named(ErrorName::Provider, "too many requests").with_advice(RetryAdvice::After(after))
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// T11: what asks for 7 s is tried again no sooner than after 7 s, and no later than the jitter allows.
#[tokio::test(start_paused = true)]
async fn a_failure_that_asks_for_a_delay_is_tried_again_after_it() {
    for seed in 0..32 {
        let played = play(Retry::new().seed(seed), [busy(seconds(7))]).await;
        assert_eq!(played.result.unwrap(), "answer");
        let [pause] = played.pauses[..] else { panic!("two attempts, got {:?}", played.pauses) };
        assert!(pause >= seconds(7), "{pause:?}");
        assert!(pause <= seconds(7) + DELAY_FIRST_DEFAULT + TIMER_GRAIN, "{pause:?}");
    }
}

/// D11: a retry on advice is announced like any other.
#[tokio::test(start_paused = true)]
async fn a_retry_on_advice_begins_with_a_reset() {
    let played = play(Retry::new(), [busy(seconds(7)), busy(seconds(1))]).await;
    assert_eq!(played.view, "half an ans<2>half an ans<3>answer.");
    assert_eq!(played.result.unwrap(), "answer");
}

/// T11: each pause is as long as the failure before it asked for.
#[tokio::test(start_paused = true)]
async fn each_failure_asks_for_its_own_delay() {
    let plain = CallError::named(ErrorName::Provider, "");
    let retry = CallError::named(ErrorName::Provider, "").with_advice(RetryAdvice::Retry);
    let played = play(Retry::new().attempts(5), [busy(seconds(3)), plain, busy(seconds(20)), retry]).await;
    assert_eq!(played.result.unwrap(), "answer");
    for (pause, (least, ceiling)) in played.pauses.iter().zip([(3, 1), (0, 2), (20, 4), (0, 8)]) {
        let most = seconds(least) + DELAY_FIRST_DEFAULT * ceiling + TIMER_GRAIN;
        assert!((seconds(least)..=most).contains(pause), "{:?}", played.pauses);
    }
    assert_eq!(played.pauses.len(), 4);
}

/// T11: a delay beyond the patience is the caller's decision: the failure comes back at once, with its advice.
#[tokio::test(start_paused = true)]
async fn a_delay_beyond_the_patience_is_given_back_at_once() {
    let long = seconds(120);
    for retry in [Retry::new(), Retry::new().when(|_| true)] {
        let played = play(retry, [busy(long)]).await;
        let error = played.result.unwrap_err();
        assert_eq!(
            (error.name(), error.retry_advice()),
            (ErrorName::Provider, Some(RetryAdvice::After(long)))
        );
        assert_eq!((played.pauses.len(), played.took), (0, Duration::ZERO));
    }
    let patient = play(Retry::new().patience(long), [busy(long)]).await;
    assert!(patient.result.is_ok() && patient.took >= long);
    let hasty = play(Retry::new().patience(seconds(1)), [busy(seconds(2))]).await;
    assert!(hasty.result.is_err() && hasty.took.is_zero());
}

/// T11: the patience is 60 s, and that is still waited for.
#[tokio::test(start_paused = true)]
async fn a_delay_of_the_patience_itself_is_waited_for() {
    assert_eq!(RETRY_AFTER_MAX_DEFAULT, seconds(60));
    assert!(play(Retry::new(), [busy(seconds(60))]).await.took >= seconds(60));
    let over = seconds(60) + Duration::from_nanos(1);
    assert_eq!(play(Retry::new(), [busy(over)]).await.took, Duration::ZERO);
}

/// T11: what advises never is not tried again, unless a closure says so; a refusal not even then.
#[tokio::test(start_paused = true)]
async fn a_failure_that_advises_never_runs_once() {
    let never = || CallError::named(ErrorName::Provider, "bad key").with_advice(RetryAdvice::Never);
    let played = play(Retry::new(), [never()]).await;
    assert_eq!((played.view.as_str(), played.took), ("half an ans", Duration::ZERO));
    assert_eq!(played.result.unwrap_err().retry_advice(), Some(RetryAdvice::Never));
    assert!(play(Retry::new().when(|_| true), [never()]).await.result.is_ok());

    for refused in [
        CallError::from(Refusal::quota("budget")),
        CallError::aborted(Arc::new(AbortError::new())),
        CallError::named(ErrorName::EgressDenied, ""),
    ] {
        let advised = refused.with_advice(RetryAdvice::After(seconds(1)));
        let played = play(Retry::new().when(|_| true), [advised]).await;
        assert!(played.result.is_err() && played.pauses.is_empty());
    }
}

/// T11: advice decides where the name alone would not retry.
#[tokio::test(start_paused = true)]
async fn advice_to_retry_counts_more_than_the_name() {
    let odd = || CallError::named(ErrorName::OutputInvalid, "cut short");
    assert!(play(Retry::new(), [odd()]).await.result.is_err());
    let played = play(Retry::new(), [odd().with_advice(RetryAdvice::Retry)]).await;
    assert!(played.result.is_ok() && played.took <= DELAY_CAP_DEFAULT);
}

/// T11: a closure decides in place of the advice, and the delay that was asked for is kept.
#[tokio::test(start_paused = true)]
async fn a_closure_decides_and_the_delay_is_kept() {
    let played =
        play(Retry::new().when(|error| error.name() == ErrorName::Provider), [busy(seconds(9))]).await;
    assert!(played.result.is_ok() && played.took >= seconds(9));
    let played = play(Retry::new().when(|_| false), [busy(seconds(9))]).await;
    assert!(played.result.is_err() && played.took.is_zero());
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_is_followed_by_no_pause() {
    let played = play(Retry::new().attempts(2), [busy(seconds(5)), busy(seconds(50))]).await;
    assert_eq!(played.result.unwrap_err().retry_advice(), Some(RetryAdvice::After(seconds(50))));
    assert!(played.took < seconds(6), "{:?}", played.took);
}

/// D8: an abort ends a pause that was asked for, too.
#[tokio::test(start_paused = true)]
async fn an_abort_ends_a_delay_that_was_asked_for() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new())
        .effect(Fails { with: vec![busy(seconds(50))], began: Arc::default() })
        .build()
        .unwrap();
    let tool = runtime.tool::<(), String>("fails").unwrap();
    let signal = Signal::new();
    let aborter = signal.clone();
    tokio::spawn(async move {
        tokio::time::sleep(seconds(1)).await;
        aborter.abort(Arc::new(AbortError::new()));
    });
    let start = Instant::now();
    let error = runtime.invoke_transient(tool, ()).signal(signal).await.unwrap_err();
    assert_eq!(error.name(), ErrorName::Abort);
    assert!(start.elapsed() < seconds(2));
}
