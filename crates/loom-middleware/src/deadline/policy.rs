//! How much time is left, and the refusal when none is.

use std::time::Duration;

use loom_effect_runtime::{ErrorName, Refusal};

use crate::timed::GivenUp;

/// The rule of every error of a deadline that has passed.
pub const DEADLINE_RULE: &str = "deadline";
/// The rule where the runtime's clock has no timer: nobody could tell what runs that the deadline has passed.
const NO_TIMER_RULE: &str = "deadline.no_timer";

/// What is left of `limit` at `now`. Time from before the beginning has used up nothing.
pub(super) fn left(limit: Duration, began: Option<Duration>, now: Duration) -> Duration {
    limit.saturating_sub(now.saturating_sub(began.unwrap_or(now)))
}

#[cold]
pub(super) fn passed() -> Refusal {
    Refusal::new(ErrorName::DeadlineExceeded, DEADLINE_RULE)
}

#[cold]
pub(super) fn gave_up(why: GivenUp) -> Refusal {
    match why {
        GivenUp::Late => passed(),
        GivenUp::NoTimer => Refusal::new(ErrorName::DeadlineExceeded, NO_TIMER_RULE),
    }
}
