//! The registry of stable error names: what a caller that cannot import a crate classifies a failure by.
//!
//! The set only grows. Each name has a page in `docs/errors/` that says what happened, why, and what to do.

use std::fmt;

macro_rules! names {
    ($($(#[$doc:meta])* $variant:ident => $text:literal, refusal: $refusal:literal;)+) => {
        /// A stable error name (spec row T11). Compare by value in Rust, by [`ErrorName::as_str`] elsewhere.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorName {
            $($(#[$doc])* $variant,)+
        }

        impl ErrorName {
            /// Every name there is, in the order they were added.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The text form, byte for byte what is journaled and printed.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Whether the name is one of the control-plane refusals that nothing may retry (spec row T11).
            #[must_use]
            pub const fn is_refusal(self) -> bool {
                match self { $(Self::$variant => $refusal,)+ }
            }

            /// The name whose text form is `text`, if there is one.
            #[must_use]
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

names! {
    /// The identity lacks the grant for this tool.
    CapabilityDenied => "CapabilityDeniedError", refusal: true;
    /// The identity may not act as another.
    CapabilityInvokeDenied => "CapabilityInvokeDeniedError", refusal: true;
    /// The identity may not start, resume or cancel an execution.
    ExecutionDenied => "ExecutionDeniedError", refusal: true;
    /// The effect's mode does not fit the seam it was called on.
    EffectModeViolation => "EffectModeViolationError", refusal: true;
    /// A budget, rate or ceiling is used up.
    QuotaExceeded => "QuotaExceededError", refusal: true;
    /// The destination is not one that may be reached.
    EgressDenied => "EgressDeniedError", refusal: true;
    /// A validator or guard refused input, output or live text.
    SafetyViolation => "SafetyViolationError", refusal: true;
    /// Tainted content stood in a request where only trusted content may stand.
    UntrustedContent => "UntrustedContentError", refusal: true;
    /// The caller aborted the call.
    Abort => "AbortError", refusal: true;
    /// The execution was cancelled or ran past its deadline.
    ExecutionCancelled => "ExecutionCancelledError", refusal: true;
    /// The decide scope had settled.
    DecideScopeClosed => "DecideScopeClosedError", refusal: true;
    /// No effect is registered under that id.
    ToolNotFound => "ToolNotFoundError", refusal: false;
    /// The input is not what the effect's type expects, or breaks a stated bound.
    InputInvalid => "InputInvalidError", refusal: false;
    /// The output is not what was promised: wrong type, or not the text that was streamed.
    OutputInvalid => "OutputInvalidError", refusal: false;
    /// The effect reported a failure of its own.
    EffectFailed => "EffectFailedError", refusal: false;
    /// The effect panicked.
    EffectPanicked => "EffectPanickedError", refusal: false;
    /// The effect may not run again once a delta of it was delivered.
    NotRepeatable => "NotRepeatableError", refusal: false;
    /// A stated time ran out.
    DeadlineExceeded => "DeadlineExceededError", refusal: false;
    /// The event store failed.
    Store => "StoreError", refusal: false;
    /// Another process holds the event store.
    StoreLocked => "StoreLockedError", refusal: false;
    /// The event store has no room left.
    StoreFull => "StoreFullError", refusal: false;
    /// A model provider failed.
    Provider => "ProviderError", refusal: false;
    /// The model's answer is not a plan.
    PlanInvalid => "PlanInvalidError", refusal: false;
    /// An execution of that id exists with another flow or input.
    ExecutionConflict => "ExecutionConflictError", refusal: false;
    /// The recorded history does not fit the code.
    Nondeterminism => "NondeterminismError", refusal: false;
    /// A failure on a named channel that carries its own payload.
    TypedFailure => "TypedFailure", refusal: false;
}

impl fmt::Display for ErrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
