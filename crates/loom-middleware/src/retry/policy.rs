//! What is retried, how often, and how long the pauses are.

use std::time::Duration;

use loom_effect_runtime::{CallError, ErrorName, RetryAdvice};

/// How often an effect runs in one call unless the retry says otherwise, the first time included.
pub const ATTEMPTS_DEFAULT: u32 = 3;
/// The most attempts a retry can be given.
pub const ATTEMPTS_MAX: u32 = 100;
/// The longest pause after the first attempt.
pub const DELAY_FIRST_DEFAULT: Duration = Duration::from_millis(250);
/// The longest pause of all.
pub const DELAY_CAP_DEFAULT: Duration = Duration::from_secs(8);
/// The longest delay asked for by a failure that is waited for; a longer one is the caller's to decide on.
pub const RETRY_AFTER_MAX_DEFAULT: Duration = Duration::from_secs(60);

/// Exponential pauses under a cap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pub(super) first: Duration,
    pub(super) cap: Duration,
}

impl Backoff {
    /// The pause after the attempt `failed` (from 1): the share `draw` / 2^64 of the longest one.
    pub(super) fn delay(self, failed: u32, draw: u64) -> Duration {
        let longest = u64::try_from(self.longest(failed).as_nanos()).unwrap_or(u64::MAX);
        let share = ((u128::from(longest) + 1) * u128::from(draw)) >> u64::BITS;
        Duration::from_nanos(u64::try_from(share).unwrap_or(longest))
    }

    fn longest(self, failed: u32) -> Duration {
        let factor = 1_u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.cap)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: DELAY_FIRST_DEFAULT, cap: DELAY_CAP_DEFAULT }
    }
}

/// A closure that decides on failures.
pub(crate) type Decides = dyn Fn(&CallError) -> bool + Send + Sync;

/// Whether a failure is worth another attempt: as its advice says, and without one by its name.
pub(crate) fn is_passing(error: &CallError) -> bool {
    match error.retry_advice() {
        Some(RetryAdvice::Never) => false,
        Some(RetryAdvice::After(_) | RetryAdvice::Retry) => true,
        _ => {
            matches!(
                error.name(),
                ErrorName::EffectFailed | ErrorName::Provider | ErrorName::DeadlineExceeded
            )
        }
    }
}

/// What a failure asks to wait at least; `None` where that is longer than `patience`.
pub(super) fn asked(error: &CallError, patience: Duration) -> Option<Duration> {
    match error.retry_advice() {
        Some(RetryAdvice::After(delay)) => (delay <= patience).then_some(delay),
        _ => Some(Duration::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A pause is never longer than the doubled first one, nor than the cap.
        #[test]
        fn a_pause_stays_under_its_ceiling(
            first_ms in 0_u64..100_000,
            cap_ms in 0_u64..100_000,
            failed in 1_u32..200,
            draw: u64,
        ) {
            let backoff =
                Backoff { first: Duration::from_millis(first_ms), cap: Duration::from_millis(cap_ms) };
            let doubled = u128::from(first_ms) << (failed - 1).min(32);
            let ceiling = doubled.min(u128::from(cap_ms));
            prop_assert!(backoff.delay(failed, draw).as_millis() <= ceiling);
        }

        /// T11: a failure's advice decides, its name only where it says nothing, and a refusal's name is above both.
        #[test]
        fn advice_decides_over_the_name(name in prop::sample::select(ErrorName::ALL), advice in advice()) {
            let plain = CallError::named(name, "");
            let by_name = is_passing(&plain);
            let passes = match advice {
                None => by_name,
                Some(advice) => is_passing(&plain.with_advice(advice)),
            };
            let said = advice.map_or(by_name, |advice| advice != RetryAdvice::Never);
            prop_assert_eq!(passes, said && !name.is_refusal());
        }

        /// Only a delay that was asked for is waited for, and only up to the patience.
        #[test]
        fn what_is_asked_is_kept_up_to_the_patience(advice in advice(), patience_ms in 0_u64..100_000) {
            let patience = Duration::from_millis(patience_ms);
            let plain = CallError::named(ErrorName::Provider, "");
            let error = match advice {
                None => plain,
                Some(advice) => plain.with_advice(advice),
            };
            let expected = match advice {
                Some(RetryAdvice::After(delay)) if delay > patience => None,
                Some(RetryAdvice::After(delay)) => Some(delay),
                _ => Some(Duration::ZERO),
            };
            prop_assert_eq!(asked(&error, patience), expected);
        }
    }

    fn advice() -> impl Strategy<Value = Option<RetryAdvice>> {
        prop_oneof![
            Just(None),
            Just(Some(RetryAdvice::Never)),
            Just(Some(RetryAdvice::Retry)),
            (0_u64..100_000).prop_map(|ms| Some(RetryAdvice::After(Duration::from_millis(ms)))),
            Just(Some(RetryAdvice::After(Duration::MAX))),
        ]
    }

    #[test]
    fn the_ceilings_double_from_250_ms_to_8_s() {
        let longest = |failed| Backoff::default().delay(failed, u64::MAX).as_millis();
        let ceilings: Vec<_> = (1..=8).map(longest).collect();
        assert_eq!(ceilings, [250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(longest(u32::MAX), 8000);
    }

    #[test]
    fn the_jitter_is_full_from_nothing_to_the_ceiling() {
        let backoff = Backoff::default();
        assert_eq!(backoff.delay(1, 0), Duration::ZERO);
        assert_eq!(backoff.delay(1, 1 << 63), Duration::from_millis(125));
        assert_eq!(backoff.delay(1, u64::MAX), Duration::from_millis(250));
    }

    #[test]
    fn failures_of_the_world_pass_and_faults_in_code_do_not() {
        let passing: Vec<_> = ErrorName::ALL
            .iter()
            .filter(|name| is_passing(&CallError::named(**name, "")))
            .map(|name| name.as_str())
            .collect();
        assert_eq!(passing, ["EffectFailedError", "DeadlineExceededError", "ProviderError"]);
    }
}
