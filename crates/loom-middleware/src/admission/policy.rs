//! The ceilings of an execution.

use loom_effect_runtime::ResourceTotals;

/// What an execution may use; `None` is no ceiling.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ceiling {
    pub(super) calls: Option<u64>,
    pub(super) tokens: Option<u64>,
}

impl Ceiling {
    /// The rule of the first ceiling that `totals` have reached.
    pub(super) fn reached_by(&self, totals: &ResourceTotals) -> Option<&'static str> {
        let tokens = [totals.usage.input_tokens, totals.usage.output_tokens];
        let tokens = tokens.into_iter().flatten().fold(0, u64::saturating_add);
        if self.calls.is_some_and(|max| totals.calls >= max) {
            Some("admission.calls")
        } else if self.tokens.is_some_and(|max| tokens >= max) {
            Some("admission.tokens")
        } else {
            None
        }
    }
}
