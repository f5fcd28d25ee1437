//! Which limit a tool has, and what is said at it.

use std::time::Duration;

use loom_effect_runtime::{ErrorName, RetryAdvice};

use super::policy::{Limits, gave_up};
use crate::timed::GivenUp;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_tool_has_its_own_limit_or_the_one_of_all() {
    let mut limits = Limits::of_all(SECOND);
    limits.set("slow".into(), Some(SECOND * 60));
    limits.set("free".into(), None);
    assert_eq!(limits.of("any"), Some(SECOND));
    assert_eq!(limits.of("slow"), Some(SECOND * 60));
    assert_eq!(limits.of("free"), None);
    limits.set("free".into(), Some(Duration::ZERO));
    assert_eq!(limits.of("free"), Some(Duration::ZERO), "what is said last stands");
}

#[test]
fn the_failure_names_the_figure_and_no_timer_advises_never() {
    let late = gave_up(GivenUp::Late, Some(SECOND / 4));
    assert_eq!(late.name(), ErrorName::DeadlineExceeded);
    assert_eq!(late.to_string(), "timeout: not done within 250ms");
    assert_eq!((late.is_refusal(), late.retry_advice()), (false, None));
    let blind = gave_up(GivenUp::NoTimer, Some(SECOND / 4));
    assert_eq!(blind.to_string(), "timeout: no timer to keep the limit of 250ms");
    assert_eq!(blind.retry_advice(), Some(RetryAdvice::Never));
}
