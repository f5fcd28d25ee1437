//! What is retried, how often and after how long.

use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{AbortError, CallError, ErrorName, Refusal, RetryAdvice, Violation};
use proptest::prelude::*;

use super::errors::Failures;
use super::{
    ATTEMPTS_MAX, DELAY_CAP_DEFAULT, DELAY_FIRST_DEFAULT, ErrorPolicy, RETRY_AFTER_MAX_DEFAULT, Retry,
};

/// T11: a refusal, a sever and an abort are not retried even when the closure would.
#[test]
fn nothing_that_refuses_is_retried_whatever_the_closure_says() {
    let eager = Retry::new().when(|_| true);
    for error in [
        CallError::from(Refusal::quota("q")),
        CallError::from(Violation::safety("v")),
        CallError::aborted(Arc::new(AbortError::new())),
        CallError::named(ErrorName::NotRepeatable, ""),
    ] {
        assert!(!eager.retries(&error), "{error:?}");
    }
    for name in ErrorName::ALL {
        let named = CallError::named(*name, "");
        assert_eq!(eager.retries(&named), !name.is_refusal() && *name != ErrorName::NotRepeatable, "{name}");
    }
    assert!(!Retry::new().when(|_| false).retries(&CallError::named(ErrorName::Provider, "")));
}

#[test]
fn attempts_are_brought_into_their_range() {
    assert_eq!(Retry::new().attempts(0).attempts, 1);
    assert_eq!(Retry::new().attempts(u32::MAX).attempts, ATTEMPTS_MAX);
}

/// T11: a closure may overrule the advice of a failure, and not that of a refusal.
#[test]
fn never_is_overruled_by_a_closure_for_failures_alone() {
    let eager = Retry::new().when(|_| true);
    let never = |name| CallError::named(name, "").with_advice(RetryAdvice::Never);
    assert!(!Retry::new().retries(&never(ErrorName::Provider)));
    assert!(eager.retries(&never(ErrorName::Provider)));
    let refused = CallError::from(Refusal::quota("q")).with_advice(RetryAdvice::Retry);
    assert!(!eager.retries(&refused) && !Retry::new().retries(&refused));
    assert!(!eager.retries(&never(ErrorName::EgressDenied)));
}

proptest! {
    /// T11: jitter never shortens a delay that was asked for, adds no more than the pause without one, and what is
    /// longer than the patience is not waited for.
    #[test]
    fn a_pause_is_never_shorter_than_asked(asked_ms in 0_u64..120_000, failed in 1_u32..50, draw: u64) {
        let asked = Duration::from_millis(asked_ms);
        let error = CallError::named(ErrorName::Provider, "").with_advice(RetryAdvice::After(asked));
        match Retry::new().pause(&error, failed, draw) {
            None => prop_assert!(asked > RETRY_AFTER_MAX_DEFAULT),
            Some(pause) => {
                prop_assert!(asked <= RETRY_AFTER_MAX_DEFAULT);
                prop_assert!(pause >= asked && pause <= asked + DELAY_CAP_DEFAULT);
            }
        }
    }

    #[test]
    fn a_pause_that_nobody_asked_for_is_the_jittered_one(failed in 1_u32..50, draw: u64, said: bool) {
        let mut error = CallError::named(ErrorName::Provider, "");
        if said {
            error = error.with_advice(RetryAdvice::Retry);
        }
        let retry = Retry::new().patience(Duration::ZERO);
        prop_assert_eq!(retry.pause(&error, failed, draw), Some(retry.backoff.delay(failed, draw)));
    }
}

/// A delay as long as time itself does not overflow.
#[test]
fn patience_without_end_waits_without_end() {
    let error = CallError::named(ErrorName::Provider, "").with_advice(RetryAdvice::After(Duration::MAX));
    assert_eq!(Retry::new().patience(Duration::MAX).pause(&error, 1, u64::MAX), Some(Duration::MAX));
    assert_eq!(Retry::new().pause(&error, 1, 0), None);
}

/// T11: a policy for a name changes nothing about what may not be retried.
#[test]
fn no_policy_lets_a_refusal_be_retried() {
    let mut retry = Retry::new();
    for name in ErrorName::ALL {
        retry = retry.on(*name, ErrorPolicy::attempts(ATTEMPTS_MAX));
    }
    for name in ErrorName::ALL {
        let named = CallError::named(*name, "");
        assert_eq!(retry.retries(&named), !name.is_refusal() && *name != ErrorName::NotRepeatable, "{name}");
        assert!(!retry.retries(&named.with_advice(RetryAdvice::Never)), "{name}");
    }
    assert!(!retry.retries(&CallError::from(Refusal::new(ErrorName::DeadlineExceeded, "deadline"))));
}

#[test]
fn the_last_policy_of_a_name_stands_and_is_in_range() {
    let name = ErrorName::Provider;
    let retry = Retry::new().on(name, ErrorPolicy::attempts(7)).on(name, ErrorPolicy::attempts(u32::MAX));
    assert_eq!(retry.policies.of(name).map(|policy| policy.attempts), Some(ATTEMPTS_MAX));
    let retry = retry.on(name, ErrorPolicy::attempts(0));
    assert_eq!(retry.policies.of(name).map(|policy| policy.attempts), Some(1));
}

#[test]
fn a_policy_pauses_as_it_says_and_the_rest_as_before() {
    let second = Duration::from_secs(1);
    let policy = ErrorPolicy::attempts(9).backoff(second, second * 3);
    let retry = Retry::new().on(ErrorName::Provider, policy);
    let pause = |name, failed| retry.pause(&CallError::named(name, ""), failed, u64::MAX);
    let own: Vec<_> = (1..=3).filter_map(|failed| pause(ErrorName::Provider, failed)).collect();
    assert_eq!(own, [second, second * 2, second * 3]);
    assert_eq!(pause(ErrorName::EffectFailed, 1), Some(DELAY_FIRST_DEFAULT));
}

proptest! {
    /// T11: whatever the policies are and whatever fails, a name ends the call at its own figure, the names without
    /// one at the figure they share, and one call never runs more than the most attempts there are.
    #[test]
    fn each_name_ends_the_call_at_its_own_figure(
        provider in 1_u32..120, shared in 1_u32..120,
        fails in proptest::collection::vec(proptest::bool::ANY, 0..250),
    ) {
        let retry = Retry::new().attempts(shared).on(ErrorName::Provider, ErrorPolicy::attempts(provider));
        let (mut failures, mut ran, mut counts) = (Failures::default(), 0, [0_u32; 2]);
        for is_provider in fails {
            let name = if is_provider { ErrorName::Provider } else { ErrorName::EffectFailed };
            ran += 1;
            counts[usize::from(is_provider)] += 1;
            let most = if is_provider { provider } else { shared }.min(ATTEMPTS_MAX);
            let expected = counts[usize::from(is_provider)] < most && ran < ATTEMPTS_MAX;
            prop_assert_eq!(retry.has_another(&CallError::named(name, ""), &mut failures), expected);
            if !expected {
                break;
            }
        }
        prop_assert!(ran <= ATTEMPTS_MAX);
    }
}
