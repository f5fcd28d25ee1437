//! What a workflow answers instead of an outcome.

use loom_effect_runtime::{AbortReason, CallError, CancelKind, ErrorName};

use crate::record::IdError;
use crate::store::StoreError;

/// Why an execution did not start, or did not end with a value. A clone is the same error.
///
/// A name survives the store (spec row T4): an execution that failed answers the same [`name`](Self::name), rule,
/// place and typed failure after a restart. Only [`abort_reason`](Self::abort_reason) of a caller's own error and
/// an error's [`source`](std::error::Error::source) live as long as the process.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowError {
    /// The flow's own failure, or a refusal to start it.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The execution was cancelled.
    #[error("the execution was ended by `{}`", kind.as_str())]
    Cancelled {
        /// Whether somebody cancelled it or its deadline passed.
        kind: CancelKind,
        /// The canceller's own error, or an
        /// [`ExecutionCancelledError`](loom_effect_runtime::ExecutionCancelledError) where it gave none.
        reason: AbortReason,
    },
    /// The event store failed; what it acknowledged is kept, and the execution can be started again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal does not fit the flow's code; the execution is blocked, its journal as it was.
    #[error(transparent)]
    Nondeterminism(#[from] Box<Nondeterminism>),
    /// The workflow was dropped while the execution ran; it goes on when it is started again.
    #[error("the workflow was dropped while the execution ran; start it again to go on")]
    Stopped,
}

impl WorkflowError {
    /// The stable name (spec row T11). A cancelled execution is `ExecutionCancelledError`, whatever error the
    /// canceller gave.
    #[must_use]
    pub fn name(&self) -> ErrorName {
        match self {
            Self::Call(error) => error.name(),
            Self::Cancelled { .. } => ErrorName::ExecutionCancelled,
            Self::Store(error) => ErrorName::from_text(error.stable_name()).unwrap_or(ErrorName::Store),
            Self::Nondeterminism(_) => ErrorName::Nondeterminism,
            Self::Stopped => ErrorName::Abort,
        }
    }

    /// The caller's own error, pointer-equal to what it gave as the reason (spec row T10).
    #[must_use]
    pub fn abort_reason(&self) -> Option<AbortReason> {
        match self {
            Self::Call(error) => error.abort_reason(),
            Self::Cancelled { reason, .. } => Some(AbortReason::clone(reason)),
            _ => None,
        }
    }

    /// The flow's failure with its typed detail, where it is one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Nondeterminism> for WorkflowError {
    fn from(mismatch: Nondeterminism) -> Self {
        Self::Nondeterminism(Box::new(mismatch))
    }
}

/// Where a journal and the flow's code part (spec row T15).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the journal does not fit the code at sequence {seq}: expected {expected}, got {got} (revision `{revision}`); \
     mend the code and start the execution again"
)]
#[non_exhaustive]
pub struct Nondeterminism {
    /// The first record that does not fit.
    pub seq: u64,
    /// What the journal holds there.
    pub expected: String,
    /// What the code asks for.
    pub got: String,
    /// The revision that the execution is pinned to.
    pub revision: String,
}

/// A workflow cannot be built so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowBuildError {
    /// A flow's name is no id.
    #[error("a flow's name is no id: {0}")]
    Name(IdError),
    /// A flow's revision is no id.
    #[error("the revision of flow `{flow}` is no id: {error}")]
    Revision {
        /// The flow.
        flow: String,
        /// What is wrong.
        error: IdError,
    },
    /// Two flows have one name and revision.
    #[error("flow `{flow}` is registered twice at revision `{revision}`")]
    Duplicate {
        /// The flow.
        flow: String,
        /// The revision.
        revision: String,
    },
    /// An effect panicked when it was asked for its input schema.
    #[error("an effect panicked when it was asked for its input schema")]
    Panicked,
}

/// Nobody has registered what an execution is pinned to.
pub(crate) fn no_flow() -> WorkflowError {
    CallError::named(ErrorName::InputInvalid, "no flow is registered under that name").into()
}

/// An id that runs with another flow or input.
pub(crate) fn conflict(differs: &'static str) -> WorkflowError {
    StoreError::Conflict { differs }.into()
}

/// More executions than one workflow drives at once.
pub(crate) fn too_many() -> WorkflowError {
    CallError::from(loom_effect_runtime::Refusal::quota("executions")).into()
}
