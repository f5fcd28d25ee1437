//! What a failure says about trying again.

use std::sync::Arc;
use std::time::Duration;

use super::CallError;

/// What whoever raised a [`CallError`] knows about trying the call again: errors are typed by what the caller can do.
///
/// It is advice: a retry honours it, and may try less often or later than it says. Nothing of it overrules that a
/// refusal, a sever and an abort are never retried (spec row T11).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryAdvice {
    /// The same call may succeed, but not before so much time has passed: what `retry-after` says.
    After(Duration),
    /// The same call may succeed, after a pause of the caller's choice.
    Retry,
    /// The same call will fail again.
    Never,
}

impl CallError {
    /// The same failure with what its raiser knows about trying again; replaces what was said before.
    ///
    /// Clones that were made before keep what they say. On a refusal, a sever or an abort it changes nothing: those
    /// always say [`RetryAdvice::Never`].
    ///
    /// ```
    /// use loom_effect_runtime::{CallError, ErrorName, Refusal, RetryAdvice};
    /// use std::time::Duration;
    ///
    /// let busy = CallError::named(ErrorName::Provider, "the provider is busy");
    /// assert_eq!(busy.retry_advice(), None);
    /// let later = RetryAdvice::After(Duration::from_secs(7));
    /// assert_eq!(busy.with_advice(later).retry_advice(), Some(later));
    ///
    /// let refused = CallError::from(Refusal::quota("budget")).with_advice(later);
    /// assert_eq!(refused.retry_advice(), Some(RetryAdvice::Never));
    /// ```
    #[cold]
    #[must_use]
    pub fn with_advice(mut self, advice: RetryAdvice) -> Self {
        Arc::make_mut(&mut self.0).advice = Some(advice);
        self
    }

    /// What the raiser said about trying again; `None` where it said nothing. A refusal, a sever and an abort always
    /// say [`RetryAdvice::Never`] (spec row T11).
    #[must_use]
    pub fn retry_advice(&self) -> Option<RetryAdvice> {
        if self.is_refusal() { Some(RetryAdvice::Never) } else { self.0.advice }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;

    use super::*;
    use crate::error::{AbortError, FailureChannel, Refusal, TypedFailure, Violation};
    use crate::names::ErrorName;

    const LATER: RetryAdvice = RetryAdvice::After(Duration::from_secs(7));

    /// T11: whatever is attached to it, a refusal, a sever and an abort say never, by type and by name.
    #[test]
    fn nothing_that_refuses_can_be_advised_into_a_retry() {
        for error in [
            CallError::from(Refusal::quota("q")),
            CallError::from(Violation::safety("v")),
            CallError::aborted(Arc::new(AbortError::new())),
        ] {
            assert_eq!(error.retry_advice(), Some(RetryAdvice::Never), "{error:?}");
            assert_eq!(error.with_advice(LATER).retry_advice(), Some(RetryAdvice::Never));
        }
        for name in ErrorName::ALL {
            let said = CallError::named(*name, "").with_advice(LATER).retry_advice();
            let expected = if name.is_refusal() { RetryAdvice::Never } else { LATER };
            assert_eq!(said, Some(expected), "{name}");
        }
    }

    #[test]
    fn advice_changes_nothing_else_and_the_last_one_counts() {
        let failure = CallError::with_source(ErrorName::Provider, "busy", io::Error::other("cause"));
        let advised = failure.with_advice(RetryAdvice::Never).with_advice(LATER);
        assert_eq!(advised.retry_advice(), Some(LATER));
        assert_eq!((advised.name(), advised.to_string().as_str()), (ErrorName::Provider, "busy"));
        assert!(advised.source().unwrap().is::<io::Error>());

        let typed = TypedFailure::new(FailureChannel::SCHEMA_DRIFT, serde_json::json!({"expected": 1}));
        let advised = CallError::from(typed.clone()).with_advice(RetryAdvice::Never);
        assert_eq!(advised.typed_failure(), Some(&typed));
        assert_eq!(advised.retry_advice(), Some(RetryAdvice::Never));
    }

    #[test]
    fn a_clone_made_before_says_what_it_said() {
        let before = CallError::named(ErrorName::Provider, "busy");
        let after = before.clone().with_advice(LATER);
        assert_eq!((before.retry_advice(), after.retry_advice()), (None, Some(LATER)));
        assert_eq!(after.clone().retry_advice(), Some(LATER), "a clone made after is the same error");
    }
}
