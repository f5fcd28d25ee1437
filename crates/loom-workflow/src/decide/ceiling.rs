//! What a scope may spend: calls started, and tokens reported or seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom_effect_runtime::{CallError, CallInfo, DeltaKind, Meter, MeterForm, Refusal, Usage, Violation};

const MAX_CALLS: &str = "scope.max_calls";
const MAX_TOKENS: &str = "scope.max_tokens";

/// The bytes of live text that count as a token.
const BYTES_PER_TOKEN: usize = 4;

/// What a scope may spend; nothing is bounded unless it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ceiling {
    pub(super) calls_max: Option<u64>,
    pub(super) tokens_max: Option<u64>,
}

/// What a scope has spent. Live only: a served decision spends nothing.
#[derive(Debug)]
pub(super) struct Spent {
    ceiling: Ceiling,
    calls: AtomicU64,
    /// Of calls that ended, and of live text of those that run.
    tokens: AtomicU64,
}

impl Spent {
    pub(super) fn new(ceiling: Ceiling) -> Self {
        Self { ceiling, calls: AtomicU64::new(0), tokens: AtomicU64::new(0) }
    }

    /// Lets one call more start.
    pub(super) fn admit(&self) -> Result<(), CallError> {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.ceiling.calls_max.is_some_and(|max| calls >= max) {
            return Err(Refusal::quota(MAX_CALLS).into());
        }
        if self.ceiling.tokens_max.is_some_and(|max| self.tokens.load(Ordering::Relaxed) >= max) {
            return Err(Refusal::quota(MAX_TOKENS).into());
        }
        Ok(())
    }

    /// The meter of one call, where tokens are bounded.
    pub(super) fn counter(self: &Arc<Self>) -> Option<Arc<Counter>> {
        self.ceiling.tokens_max?;
        Some(Arc::new(Counter { spent: Arc::clone(self), seen: Arc::default() }))
    }

    fn spend(&self, tokens: u64) -> bool {
        let before = self.tokens.fetch_add(tokens, Ordering::Relaxed);
        self.ceiling.tokens_max.is_none_or(|max| before.saturating_add(tokens) <= max)
    }
}

/// Counts one call's live text, over all of its attempts.
pub(super) struct Counter {
    spent: Arc<Spent>,
    seen: Arc<AtomicU64>,
}

impl Counter {
    /// The call ended: what its provider reported beyond the text that was counted is spent too.
    pub(super) fn settle(&self, usage: Option<Usage>) -> Result<(), CallError> {
        let reported = usage.map_or(0, |usage| {
            usage.input_tokens.unwrap_or(0).saturating_add(usage.output_tokens.unwrap_or(0))
        });
        let more = reported.saturating_sub(self.seen.load(Ordering::Relaxed));
        if self.spent.spend(more) { Ok(()) } else { Err(Refusal::quota(MAX_TOKENS).into()) }
    }
}

impl MeterForm for Counter {
    fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
        Box::new(Counting { spent: Arc::clone(&self.spent), seen: Arc::clone(&self.seen) })
    }
}

struct Counting {
    spent: Arc<Spent>,
    seen: Arc<AtomicU64>,
}

impl Meter for Counting {
    fn observe(&mut self, _kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
        let tokens = bytes.div_ceil(BYTES_PER_TOKEN).max(1) as u64;
        self.seen.fetch_add(tokens, Ordering::Relaxed);
        if self.spent.spend(tokens) { Ok(()) } else { Err(Violation::quota(MAX_TOKENS)) }
    }
}
