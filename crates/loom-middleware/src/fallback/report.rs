//! What became of a fallback's tries.

use loom_effect_runtime::{CallError, CallReport, Usage};

/// Facts about a finished [`Fallback`](super::Fallback), beside its result.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct FallbackReport {
    /// The tries in order: number 0 is the primary's. As many as tools were tried, at most
    /// [`FALLBACK_TOOLS_MAX`](super::FALLBACK_TOOLS_MAX).
    pub tries: Vec<FallbackTry>,
}

/// One try: a call of its own.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct FallbackTry {
    /// Why it failed; `None` of the one that answered.
    pub error: Option<CallError>,
    /// The call's own facts.
    pub report: CallReport,
}

impl FallbackReport {
    /// Which tool answered, in the order they were given: 0 is the primary. `None` where none did.
    #[must_use]
    pub fn answered(&self) -> Option<usize> {
        self.tries.iter().position(|tried| tried.error.is_none())
    }

    /// The failures, in order.
    pub fn failures(&self) -> impl Iterator<Item = &CallError> {
        self.tries.iter().filter_map(|tried| tried.error.as_ref())
    }

    /// What providers reported, summed over the tries; `None` when nothing was reported, never zero for unknown.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.tries.iter().filter_map(|tried| tried.report.usage).reduce(Usage::plus)
    }
}
