//! How admission decides.

use loom_effect_runtime::{ResourceTotals, Usage};
use proptest::prelude::*;

use super::policy::Ceiling;

proptest! {
    /// T12: an execution is admitted exactly while every total is below its ceiling.
    #[test]
    fn a_total_below_every_ceiling_is_admitted(
        calls in 0_u64..10, input in 0_u64..10, output in 0_u64..10,
        calls_max in proptest::option::of(0_u64..10), tokens_max in proptest::option::of(0_u64..20),
    ) {
        let ceiling = Ceiling { calls: calls_max, tokens: tokens_max };
        let totals = ResourceTotals::new(calls, Usage::new(input, output));
        let admitted = calls_max.is_none_or(|max| calls < max)
            && tokens_max.is_none_or(|max| input + output < max);
        prop_assert_eq!(ceiling.reached_by(&totals).is_none(), admitted);
    }
}

#[test]
fn tokens_that_nobody_reported_count_nothing() {
    let ceiling = Ceiling { calls: None, tokens: Some(1) };
    let unknown = ResourceTotals::new(7, Usage::default());
    assert_eq!(ceiling.reached_by(&unknown), None);
    let half = ResourceTotals::new(7, Usage { input_tokens: None, output_tokens: Some(1) });
    assert_eq!(ceiling.reached_by(&half), Some("admission.tokens"));
}

#[test]
fn totals_near_the_end_of_their_type_still_reach_the_ceiling() {
    let ceiling = Ceiling { calls: None, tokens: Some(u64::MAX) };
    let totals = ResourceTotals::new(0, Usage::new(u64::MAX, u64::MAX));
    assert_eq!(ceiling.reached_by(&totals), Some("admission.tokens"));
}
