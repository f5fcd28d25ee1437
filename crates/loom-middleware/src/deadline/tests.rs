//! When a deadline begins, and how much of it is left.

use std::time::Duration;

use loom_effect_runtime::{CallError, ErrorName, RetryAdvice};
use proptest::prelude::*;

use super::policy::{left, passed};
use super::state::State;
use super::{DEADLINE_RULE, Deadline};

const SECOND: Duration = Duration::from_secs(1);

proptest! {
    /// For all limits and times: what is left falls by what has passed, is never more than the limit, and nothing is
    /// left exactly from the deadline on.
    #[test]
    fn what_is_left_falls_with_the_time_that_has_passed(limit in 0_u64..100, began in 0_u64..100, now in 0_u64..300) {
        let nanos = Duration::from_nanos;
        let gone = now.saturating_sub(began);
        let found = left(nanos(limit), Some(nanos(began)), nanos(now));
        prop_assert_eq!(found, nanos(limit.saturating_sub(gone)));
        prop_assert_eq!(found.is_zero(), gone >= limit);
        prop_assert_eq!(left(nanos(limit), None, nanos(now)), nanos(limit));
    }
}

#[test]
fn the_first_to_begin_it_begins_it_for_all() {
    let state = State::new(SECOND * 10);
    assert_eq!(state.left(SECOND * 100), SECOND * 10, "looking begins nothing");
    assert_eq!(state.begin(SECOND * 100), SECOND * 10);
    assert_eq!(state.begin(SECOND * 104), SECOND * 6);
    assert!(!state.start(SECOND * 104));
    assert_eq!(state.left(SECOND * 110), Duration::ZERO);
}

/// No arithmetic at the end of the type.
#[test]
fn a_deadline_as_long_as_time_never_passes() {
    let state = State::new(Duration::MAX);
    assert_eq!(state.begin(SECOND), Duration::MAX);
    assert!(!state.left(Duration::MAX).is_zero());
}

/// T11: the error of a passed deadline is a refusal by type, though its name is not a refusal's.
#[test]
fn a_passed_deadline_is_a_refusal() {
    let error = CallError::from(passed());
    assert_eq!((error.name(), error.rule()), (ErrorName::DeadlineExceeded, Some(DEADLINE_RULE)));
    assert!(error.is_refusal() && !error.name().is_refusal());
    assert_eq!(error.with_advice(RetryAdvice::Retry).retry_advice(), Some(RetryAdvice::Never));
}

#[test]
fn a_clone_is_the_same_deadline() {
    let deadline = Deadline::within(SECOND);
    let clone = deadline.clone();
    clone.0.start(SECOND);
    assert_eq!(deadline.0.left(SECOND * 2), Duration::ZERO);
}
