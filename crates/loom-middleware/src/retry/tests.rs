//! What is retried, how often and after how long.

use loom_effect_runtime::{AbortError, CallError, ErrorName, Refusal, Violation};
use std::sync::Arc;

use super::{ATTEMPTS_MAX, Retry};

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
