//! Retry with policies by error name, on a real runtime, in virtual time.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

#[path = "live/view.rs"]
mod view;

use std::time::Duration;

use loom_effect_runtime::{
    AbortError, CallError, EffectRuntime, ErrorName, Refusal, RetryAdvice, Signal, Step, inspect,
};
use loom_middleware::{ATTEMPTS_DEFAULT, ATTEMPTS_MAX, ErrorPolicy, Retry, Timeout};
use loom_testing::{Act, Scripted};
use proptest::prelude::*;
use tokio::time::Instant;

use view::View;

type Script = Scripted<String, ()>;

const SECOND: Duration = Duration::from_secs(1);
const PROVIDER: ErrorName = ErrorName::Provider;
const FAILED: ErrorName = ErrorName::EffectFailed;

/// What came of one call.
struct Played {
    result: Result<String, CallError>,
    executions: usize,
    view: String,
    took: Duration,
}

impl Played {
    fn name(&self) -> Option<ErrorName> {
        self.result.as_ref().err().map(CallError::name)
    }
}

async fn play(retry: Retry, effect: Script) -> Played {
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(retry).effect(effect.clone()).build().unwrap();
    let (tool, view) = (runtime.tool::<(), String>("scripted").unwrap(), View::default());
    let began = Instant::now();
    let result = runtime.invoke_transient(tool, ()).on_delta_sink(view.clone()).await;
    Played { result, executions: effect.executions(), view: view.text(), took: began.elapsed() }
}

/// Fails under each name in turn, then answers.
fn fails(names: impl IntoIterator<Item = ErrorName>) -> Script {
    let mut attempts = names.into_iter().map(|name| vec![Act::text("bad"), Act::Fail(name)]);
    let first = attempts.next().unwrap_or_else(|| vec![Act::text("good")]);
    attempts.fold(Script::new(first), Script::then).then([Act::text("good")])
}

fn at_once() -> Retry {
    Retry::new().backoff(Duration::ZERO, Duration::ZERO)
}

/// T11: a name with a policy is tried as often as it says, whatever the figure of the rest is.
#[tokio::test(start_paused = true)]
async fn a_name_with_a_policy_is_tried_as_often_as_it_says() {
    let retry = || at_once().attempts(2).on(PROVIDER, ErrorPolicy::attempts(5));
    let played = play(retry(), fails([PROVIDER; 4])).await;
    assert_eq!((played.result.unwrap().as_str(), played.executions), ("good", 5));
    assert_eq!(played.view, "bad<2>bad<3>bad<4>bad<5>good.");
    let played = play(retry(), fails([PROVIDER; 5])).await;
    assert_eq!((played.name(), played.executions), (Some(PROVIDER), 5));
    let played = play(retry(), fails([FAILED; 2])).await;
    assert_eq!((played.name(), played.executions), (Some(FAILED), 2));
}

/// T11: failures of one name do not use up the attempts of another.
#[tokio::test(start_paused = true)]
async fn each_name_has_its_own_count() {
    let retry = || at_once().attempts(2).on(PROVIDER, ErrorPolicy::attempts(3));
    let played = play(retry(), fails([PROVIDER, FAILED, PROVIDER])).await;
    assert_eq!((played.result.unwrap().as_str(), played.executions), ("good", 4));
    let played = play(retry(), fails([PROVIDER, FAILED, FAILED])).await;
    assert_eq!((played.name(), played.executions), (Some(FAILED), 3));
}

/// T11: never is never, whatever the failure advises and the closure says; a timeout is such a failure.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_never_tried_again_runs_once() {
    let never = |retry: Retry| retry.on(PROVIDER, ErrorPolicy::never());
    let advised = CallError::named(PROVIDER, "busy").with_advice(RetryAdvice::Retry);
    for retry in [never(at_once()), never(at_once().when(|_| true))] {
        assert_eq!(play(retry.clone(), fails([PROVIDER])).await.executions, 1);
        let played = play(retry, Script::new([Act::FailWith(advised.clone())])).await;
        assert_eq!((played.name(), played.executions), (Some(PROVIDER), 1));
    }
    let effect = Script::new([Act::Park]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new().on(ErrorName::DeadlineExceeded, ErrorPolicy::never()))
        .around(Timeout::after(SECOND))
        .effect(effect.clone())
        .build()
        .unwrap();
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    assert_eq!(runtime.invoke_transient(tool, ()).await.unwrap_err().name(), ErrorName::DeadlineExceeded);
    assert_eq!(effect.executions(), 1);
}

/// T11: a policy retries a name that nothing else would.
#[tokio::test(start_paused = true)]
async fn a_policy_retries_a_name_that_by_itself_is_not() {
    let odd = ErrorName::OutputInvalid;
    assert_eq!(play(at_once(), fails([odd])).await.executions, 1);
    let played = play(at_once().on(odd, ErrorPolicy::attempts(2)), fails([odd])).await;
    assert_eq!((played.result.unwrap().as_str(), played.executions), ("good", 2));
}

/// T11: what advises never is not tried again for a policy's sake; a closure may, as often as the policy says.
#[tokio::test(start_paused = true)]
async fn advice_never_stands_over_a_policy_and_a_closure_over_both() {
    let never = CallError::named(PROVIDER, "bad key").with_advice(RetryAdvice::Never);
    let retry = at_once().on(PROVIDER, ErrorPolicy::attempts(5));
    let effect = || Script::new([Act::FailWith(never.clone())]);
    assert_eq!(play(retry.clone(), effect()).await.executions, 1);
    assert_eq!(play(retry.clone().when(|_| true), effect()).await.executions, 5);
    assert_eq!(play(retry.when(|_| false), fails([PROVIDER])).await.executions, 1);
}

/// T11: a refusal, a sever's name and an abort run once, whatever policy their names have.
#[tokio::test(start_paused = true)]
async fn no_policy_retries_a_refusal() {
    let mut retry = at_once().when(|_| true);
    for name in ErrorName::ALL {
        retry = retry.on(*name, ErrorPolicy::attempts(9));
    }
    for name in ErrorName::ALL.iter().filter(|name| name.is_refusal()) {
        let played = play(retry.clone(), fails([*name])).await;
        assert_eq!((played.name(), played.executions), (Some(*name), 1));
    }
    let effect = Script::new([Act::text("x")]);
    let refusal = || Refusal::new(ErrorName::DeadlineExceeded, "late");
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(retry)
        .output_middleware(inspect("late", None, move |_, _| Step::Deny(refusal())))
        .effect(effect.clone())
        .build()
        .unwrap();
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    assert_eq!(runtime.invoke_transient(tool, ()).await.unwrap_err().rule(), Some("late"));
    assert_eq!(effect.executions(), 1);
}

/// T11: a policy's own pauses are kept, and so is the delay that a failure asks for.
#[tokio::test(start_paused = true)]
async fn a_policy_pauses_as_it_says() {
    let hour = SECOND * 3600;
    let policy = ErrorPolicy::attempts(2).backoff(hour, hour);
    let played = play(at_once().seed(3).on(PROVIDER, policy), fails([PROVIDER])).await;
    assert!(played.result.is_ok() && played.took > SECOND && played.took <= hour, "{:?}", played.took);
    let played = play(at_once().seed(3).on(PROVIDER, policy), fails([FAILED])).await;
    assert!(played.result.is_ok() && played.took.is_zero());

    let asks = CallError::named(PROVIDER, "busy").with_advice(RetryAdvice::After(SECOND * 7));
    let policy = ErrorPolicy::attempts(2).backoff(Duration::ZERO, Duration::ZERO);
    let effect = Script::new([Act::FailWith(asks)]).then([Act::text("good")]);
    let played = play(Retry::new().on(PROVIDER, policy), effect).await;
    assert!(played.result.is_ok() && played.took >= SECOND * 7 && played.took < SECOND * 8);
}

/// However many names have policies, one call never runs more than the most attempts there are.
#[tokio::test(start_paused = true)]
async fn all_policies_together_are_bounded() {
    let most = ErrorPolicy::attempts(ATTEMPTS_MAX);
    let retry = at_once().on(PROVIDER, most).on(FAILED, most);
    let names = std::iter::repeat_n([PROVIDER, FAILED], ATTEMPTS_MAX as usize).flatten();
    let played = play(retry, fails(names)).await;
    assert_eq!(played.executions, ATTEMPTS_MAX as usize);
    assert!(played.result.is_err());
}

/// D8: an abort ends a policy's pause.
#[tokio::test(start_paused = true)]
async fn an_abort_ends_a_pause_of_a_policy() {
    let hour = SECOND * 3600;
    let retry = Retry::new().seed(1).on(PROVIDER, ErrorPolicy::attempts(9).backoff(hour, hour));
    let effect = fails([PROVIDER]);
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(retry).effect(effect.clone()).build().unwrap();
    let signal = Signal::new();
    let raised = signal.clone();
    tokio::spawn(async move {
        tokio::time::sleep(SECOND).await;
        raised.abort_with(AbortError::new());
    });
    let (tool, began) = (runtime.tool::<(), String>("scripted").unwrap(), Instant::now());
    let error = runtime.invoke_transient(tool, ()).signal(signal).await.unwrap_err();
    assert_eq!((error.name(), effect.executions()), (ErrorName::Abort, 1));
    assert!(began.elapsed() < SECOND * 2);
}

proptest! {
    /// T11, D11: for all scripts of failures, the call answers exactly where no name ran out of its attempts, the fold
    /// is the output, and each attempt after the first began with one reset.
    #[test]
    fn a_call_ends_with_the_name_that_ran_out(
        provider in 1_u32..5,
        script in proptest::collection::vec(prop_oneof![Just(PROVIDER), Just(FAILED)], 0..8),
    ) {
        let mut counts = [0; 2];
        let out = script.iter().position(|name| {
            let at = usize::from(*name == PROVIDER);
            counts[at] += 1;
            counts[at] >= [ATTEMPTS_DEFAULT, provider][at]
        });
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let retry = at_once().on(PROVIDER, ErrorPolicy::attempts(provider));
        let played = tokio.block_on(play(retry, fails(script.iter().copied())));
        let ran = out.map_or(script.len() + 1, |at| at + 1);
        prop_assert_eq!(played.name(), out.map(|at| script[at]));
        prop_assert_eq!(played.executions, ran);
        let failed: String = (1..ran).map(|attempt| format!("bad<{}>", attempt + 1)).collect();
        let last = if out.is_some() { "bad" } else { "good." };
        prop_assert_eq!(played.view, format!("{failed}{last}"));
    }
}
