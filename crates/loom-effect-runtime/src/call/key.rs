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
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct CallRef<'a> {
    /// The execution's id; `transient:<label>` of a bare call.
    pub execution_id: &'a str,
    /// The step's id: the tool id of a transient call.
    pub step_id: &'a str,
    /// The call key, in a decide scope.
    pub call_key: Option<&'a CallKey>,
    /// The attempt, from 1.
    pub attempt: u32,
    /// A number unique in the process, which tells bare calls apart too.
    pub number: u64,
}
