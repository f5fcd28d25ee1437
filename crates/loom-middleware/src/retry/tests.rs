//! What is retried, how often and after how long.

use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{AbortError, CallError, ErrorName, Refusal, RetryAdvice, Violation};
use proptest::prelude::*;

use super::{ATTEMPTS_MAX, DELAY_CAP_DEFAULT, RETRY_AFTER_MAX_DEFAULT, Retry};

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
