//! Reasons for which a call is aborted, and the names they go by.

use std::error::Error;
use std::sync::Arc;

use crate::names::ErrorName;

/// The error an aborter gives as its reason; it comes back as itself, never wrapped (spec row T10).
pub type AbortReason = Arc<dyn Error + Send + Sync + 'static>;

/// The reason of an abort for which the aborter gave none of its own.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the call was aborted")]
pub struct AbortError;

impl AbortError {
    /// The plain abort reason.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

/// What ended an execution from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelKind {
    /// Somebody cancelled it.
    Cancel,
    /// Its deadline passed.
    Deadline,
}

impl CancelKind {
    /// The stable text: `cancel` or `deadline`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Deadline => "deadline",
        }
    }
}

/// The abort reason of a cancelled execution whose canceller gave no error of its own (spec row T10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the execution was ended by `{}`", kind.as_str())]
pub struct ExecutionCancelledError {
    /// Whether somebody cancelled or the deadline passed.
    pub kind: CancelKind,
}

/// A call on a decide scope that had settled, and the abort reason of a call that nobody awaited (spec row T10).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the decide scope had settled")]
pub struct DecideScopeClosedError;

impl DecideScopeClosedError {
    /// The reason that a closing scope gives.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

/// The stable name of an abort reason: our own two by type, everything else is the caller's abort.
pub(super) fn name_of(reason: &AbortReason) -> ErrorName {
    if reason.is::<ExecutionCancelledError>() {
        ErrorName::ExecutionCancelled
    } else if reason.is::<DecideScopeClosedError>() {
        ErrorName::DecideScopeClosed
    } else {
        ErrorName::Abort
    }
}
