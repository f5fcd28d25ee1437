//! What a governed call can fail with.

mod advice;
mod cancel;
mod refusal;
mod typed;
mod violation;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

pub use advice::RetryAdvice;
pub use cancel::{AbortError, AbortReason, CancelKind, DecideScopeClosedError, ExecutionCancelledError};
pub use refusal::Refusal;
pub use typed::{FailureChannel, TypedFailure};
pub use violation::Violation;

use crate::names::ErrorName;

/// Why a governed call failed. One word wide, cheap to clone, and never a carrier of untrusted text.
///
/// Classify it by [`CallError::name`]; the accessors give the typed detail. A clone is the same error.
#[derive(Clone)]
pub struct CallError(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    advice: Option<RetryAdvice>,
}

#[derive(Clone)]
enum Kind {
    Refused(Refusal),
    Severed(Violation),
    Aborted(AbortReason),
    Typed(TypedFailure),
    Failed { name: ErrorName, message: Cow<'static, str>, source: Option<Arc<dyn Error + Send + Sync>> },
}

impl CallError {
    /// An effect's own failure, with its cause kept as [`Error::source`].
    ///
    /// The message of this error never prints the cause: an effect's error text may quote what a model said.
    #[cold]
    #[must_use]
    pub fn failed(source: impl Error + Send + Sync + 'static) -> Self {
        Self::with_source(ErrorName::EffectFailed, "effect failed", source)
    }

    /// A failure with a stable name and a message that holds no untrusted text.
    #[cold]
    #[must_use]
    pub fn named(name: ErrorName, message: impl Into<Cow<'static, str>>) -> Self {
        Self::of(Kind::Failed { name, message: message.into(), source: None })
    }

    /// As [`CallError::named`], with the cause kept as [`Error::source`].
    #[cold]
    #[must_use]
    pub fn with_source(
        name: ErrorName,
        message: impl Into<Cow<'static, str>>,
        source: impl Error + Send + Sync + 'static,
    ) -> Self {
        Self::of(Kind::Failed { name, message: message.into(), source: Some(Arc::new(source)) })
    }

    /// The call was aborted; the reason is the aborter's own error and comes back as itself.
    #[cold]
    #[must_use]
    pub fn aborted(reason: AbortReason) -> Self {
        Self::of(Kind::Aborted(reason))
    }

    /// The stable name (spec row T11).
    #[must_use]
    pub fn name(&self) -> ErrorName {
        match &self.0.kind {
            Kind::Refused(refusal) => refusal.name(),
            Kind::Severed(violation) => violation.name(),
            Kind::Typed(_) => ErrorName::TypedFailure,
            Kind::Failed { name, .. } => *name,
            Kind::Aborted(reason) => cancel::name_of(reason),
        }
    }

    /// Whether this is a control-plane refusal, a sever or an abort: nothing may retry it (spec row T11).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match &self.0.kind {
            Kind::Refused(_) | Kind::Severed(_) | Kind::Aborted(_) => true,
            Kind::Typed(_) => false,
            Kind::Failed { name, .. } => name.is_refusal(),
        }
    }

    /// The rule that refused or severed, as the middleware or validator names it.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.0.kind {
            Kind::Refused(refusal) => Some(refusal.rule()),
            Kind::Severed(violation) => Some(violation.rule()),
            _ => None,
        }
    }

    /// The refusal, when a hook or the authorizer refused the call. The request guard and the mode check refuse by name
    /// alone: see [`CallError::is_refusal`].
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.0.kind {
            Kind::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The violation, when a guard or meter severed the stream.
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        match &self.0.kind {
            Kind::Severed(violation) => Some(violation),
            _ => None,
        }
    }

    /// The typed failure, when the effect raised one.
    #[must_use]
    pub fn typed_failure(&self) -> Option<&TypedFailure> {
        match &self.0.kind {
            Kind::Typed(failure) => Some(failure),
            _ => None,
        }
    }

    /// The aborter's own error, pointer-equal to what was passed to [`Signal::abort`](crate::Signal::abort).
    #[must_use]
    pub fn abort_reason(&self) -> Option<AbortReason> {
        match &self.0.kind {
            Kind::Aborted(reason) => Some(Arc::clone(reason)),
            _ => None,
        }
    }

    fn of(kind: Kind) -> Self {
        Self(Arc::new(Inner { kind, advice: None }))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Refused(refusal) => write!(f, "{refusal}"),
            Kind::Severed(violation) => write!(f, "{violation}"),
            Kind::Aborted(_) => f.write_str(match self.name() {
                ErrorName::ExecutionCancelled => "the execution was cancelled",
                ErrorName::DecideScopeClosed => "the decide scope had settled",
                _ => "the call was aborted",
            }),
            Kind::Typed(failure) => write!(f, "{failure}"),
            Kind::Failed { message, .. } => f.write_str(message),
        }
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallError({}: {self})", self.name())
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.kind {
            Kind::Aborted(reason) => Some(&**reason),
            Kind::Failed { source: Some(source), .. } => Some(&**source),
            _ => None,
        }
    }
}

impl From<Refusal> for CallError {
    #[cold]
    fn from(refusal: Refusal) -> Self {
        Self::of(Kind::Refused(refusal))
    }
}

impl From<Violation> for CallError {
    #[cold]
    fn from(violation: Violation) -> Self {
        Self::of(Kind::Severed(violation))
    }
}

impl From<TypedFailure> for CallError {
    #[cold]
    fn from(failure: TypedFailure) -> Self {
        Self::of(Kind::Typed(failure))
    }
}
