//! A bound on what a model may say while it says it.

use loom_effect_runtime::{CallInfo, DeltaKind, Meter, MeterForm, Middleware, Violation};

use crate::collect::token_estimate;

/// The name of the middleware and of the rule that it severs by.
pub const STREAM_TOKEN_BUDGET: &str = "stream_token_budget";

/// A budget of estimated tokens for the live text of one attempt (spec row D7); see [`stream_token_budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTokenBudget {
    tokens: u64,
}

/// Severs a stream that exceeds `tokens` before the piece that breaks the bound is delivered, with
/// `QuotaExceededError`. Every kind counts: text, reasoning and tool arguments, by [`token_estimate`] of each delta.
/// A new attempt begins anew.
///
/// As middleware it bounds every call of a runtime; one call alone is bounded by
/// [`CallBuilder::meter`](loom_effect_runtime::CallBuilder::meter). It is no input to accounting, and it counts what
/// is streamed: a reply asked for in one piece is bounded by [`ChatRequest::max_tokens`](crate::ChatRequest).
///
/// ```
/// use std::sync::Arc;
/// use loom_effect_runtime::MeterForm;
/// use loom_llm::stream_token_budget;
///
/// let of_one_call: Arc<dyn MeterForm> = Arc::new(stream_token_budget(512));
/// ```
#[must_use]
pub fn stream_token_budget(tokens: u64) -> StreamTokenBudget {
    StreamTokenBudget { tokens }
}

impl Middleware for StreamTokenBudget {
    fn name(&self) -> &str {
        STREAM_TOKEN_BUDGET
    }

    fn meter(&self) -> Option<&dyn MeterForm> {
        Some(self)
    }
}

impl MeterForm for StreamTokenBudget {
    fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
        Box::new(Left { tokens: self.tokens })
    }
}

/// What is left of the budget in one attempt.
struct Left {
    tokens: u64,
}

impl Meter for Left {
    fn observe(&mut self, _kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
        let left = self.tokens.checked_sub(token_estimate(bytes));
        self.tokens = left.ok_or_else(|| Violation::quota(STREAM_TOKEN_BUDGET))?;
        Ok(())
    }
}
