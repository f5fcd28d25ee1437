//! What tells calls apart: the call key and the reference that every delivery carries.

use std::fmt;
use std::sync::Arc;

/// The key of a scope call: `decide:<decision_id>:<n>`, n unique over the execution's life (spec row T8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    decision: Arc<str>,
    ordinal: u64,
}

impl CallKey {
    /// The key of call `ordinal` in the decision `decision`.
    #[must_use]
    pub fn decide(decision: impl Into<Arc<str>>, ordinal: u64) -> Self {
        Self { decision: decision.into(), ordinal }
    }

    /// The decision the call belongs to.
    #[must_use]
    pub fn decision(&self) -> &str {
        &self.decision
    }

    /// The ordinal within the execution.
    #[must_use]
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "decide:{}:{}", self.decision, self.ordinal)
    }
}

/// Which call a delivery belongs to, so that one sink shared by all calls folds per call (spec row D12).
#[derive(Clone, Copy)]
pub struct CallRef<'a>(pub(crate) &'a CallTag);

/// What a [`CallRef`] refers to: made once a call.
#[derive(Clone)]
pub(crate) struct CallTag {
    pub(crate) execution: Arc<str>,
    pub(crate) step: Arc<str>,
    pub(crate) key: Option<CallKey>,
    pub(crate) attempt: u32,
    pub(crate) number: u64,
}

impl<'a> CallRef<'a> {
    /// The execution's id; `transient:<label>` of a bare call.
    #[must_use]
    pub fn execution_id(&self) -> &'a str {
        &self.0.execution
    }

    /// The step's id: the tool id of a transient call.
    #[must_use]
    pub fn step_id(&self) -> &'a str {
        &self.0.step
    }

    /// The call key, in a decide scope.
    #[must_use]
    pub fn call_key(&self) -> Option<&'a CallKey> {
        self.0.key.as_ref()
    }

    /// The attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// A number unique in the process, which tells bare calls apart too.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.number
    }
}

impl fmt::Debug for CallRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRef")
            .field("execution_id", &self.execution_id())
            .field("step_id", &self.step_id())
            .field("call_key", &self.call_key())
            .field("attempt", &self.attempt())
            .field("number", &self.number())
            .finish()
    }
}
