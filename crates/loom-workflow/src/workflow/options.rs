//! How an execution is started.

use std::time::Duration;

use loom_effect_runtime::Principal;

use crate::record::ExecutionId;

/// Options of a start.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StartOptions {
    /// The id it shall have; a fresh one unless it is given.
    pub execution_id: Option<ExecutionId>,
    /// Who it runs as: `anonymous` unless it is given. Recorded, and kept over restarts.
    pub principal: Option<Principal>,
    /// How long it may take from its start; then it is cancelled with kind `deadline`. Without a timer in the
    /// runtime it is cancelled at once.
    pub deadline: Option<Duration>,
}

impl StartOptions {
    /// A start with a fresh id, as `anonymous`, without a deadline.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the execution an id: a second start under it attaches (spec row T4).
    #[must_use]
    pub fn execution_id(mut self, id: ExecutionId) -> Self {
        self.execution_id = Some(id);
        self
    }

    /// Runs the execution as this principal, with its chain, delegation and actor (spec row T6).
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Bounds the execution's time, counted from its first start, over restarts.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}
