//! Admission: an execution that has used up its ceiling is refused further calls.

mod policy;
#[cfg(test)]
mod tests;

use loom_effect_runtime::{Call, Input, Middleware, Refusal, Step};

use policy::Ceiling;

/// Refuses a call of an execution whose running totals have reached a ceiling, with `QuotaExceededError` (spec row
/// T12).
///
/// Rules: `admission.calls`, `admission.tokens`. A bare transient call belongs to no execution and has no totals, so
/// it is let through. Totals grow by durable calls alone: a scope call is judged and not charged.
///
/// The token figures are the providers' own. What a provider does not report counts nothing, and a call in flight
/// counts when it ends; the bound that needs no provider's word is a meter on the stream.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Admission {
    ceiling: Ceiling,
}

impl Admission {
    /// No ceiling: every call is admitted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Admits calls while fewer than `calls` durable calls were made; 0 admits none.
    pub fn calls_max(mut self, calls: u64) -> Self {
        self.ceiling.calls = Some(calls);
        self
    }

    /// Admits calls while fewer than `tokens` tokens were reported, of requests and answers together; 0 admits none.
    pub fn tokens_max(mut self, tokens: u64) -> Self {
        self.ceiling.tokens = Some(tokens);
        self
    }
}

impl Middleware for Admission {
    fn name(&self) -> &str {
        "admission"
    }

    #[inline]
    fn before(&self, call: &Call, _input: &Input) -> Step {
        match call.totals().and_then(|totals| self.ceiling.reached_by(totals)) {
            None => Step::Go,
            Some(rule) => Step::Deny(Refusal::quota(rule)),
        }
    }
}
