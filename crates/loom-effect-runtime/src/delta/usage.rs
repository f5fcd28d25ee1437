//! What a provider says it spent.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Tokens as a provider reported them: advisory, absent when unknown, never an input to metering (spec row D3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the request; `None` when the provider did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the answer; `None` when the provider did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Usage {
    /// Usage with both figures known.
    #[must_use]
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens: Some(input_tokens), output_tokens: Some(output_tokens) }
    }

    /// The sum of what is known; unknown stays unknown only where both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
        }
    }
}

/// A place for usage that needs no lock. The largest number stands for unknown.
pub(crate) struct UsageCell {
    known: AtomicU64,
    input: AtomicU64,
    output: AtomicU64,
}

const UNKNOWN: u64 = u64::MAX;

impl UsageCell {
    pub(crate) const fn unknown() -> Self {
        Self { known: AtomicU64::new(0), input: AtomicU64::new(UNKNOWN), output: AtomicU64::new(UNKNOWN) }
    }

    pub(crate) fn set(&self, usage: Usage) {
        self.input.store(usage.input_tokens.unwrap_or(UNKNOWN), Ordering::Relaxed);
        self.output.store(usage.output_tokens.unwrap_or(UNKNOWN), Ordering::Relaxed);
        self.known.store(1, Ordering::Release);
    }

    #[inline]
    pub(crate) fn clear(&self) {
        self.known.store(0, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.known.load(Ordering::Acquire) != 0
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<Usage> {
        if !self.is_known() {
            return None;
        }
        let figure = |cell: &AtomicU64| Some(cell.load(Ordering::Relaxed)).filter(|known| *known != UNKNOWN);
        Some(Usage { input_tokens: figure(&self.input), output_tokens: figure(&self.output) })
    }
}
