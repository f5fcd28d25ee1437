//! Middleware: pass-through, input-rewriting and output-inspecting.

use std::time::Duration;

use super::{Step, WAIT_DEADLINE_DEFAULT, Waiting, undecided};
use crate::call::{Call, Outcome};
use crate::data::{Input, Output};
use crate::delta::{DeltaForm, MeterForm};
use crate::names::ErrorName;

/// Pass-through middleware: reads the input and the facts of the outcome, never content of the output.
///
/// Kill switches, admission, rate limits, input validation and metering are of this kind. It runs on every call,
/// durable and transient alike, in registration order.
///
/// # Contract
/// `before` runs after the authorizer, on the very input the effect gets. `after` runs in reverse order for every
/// hook that said Go, on success, error, panic and abort, but not when the caller drops the call: what
/// [`Call::keep`] holds is dropped then. `after` cannot refuse.
///
/// # Panics
/// A panic in `before` refuses the call; one in `after` is reported.
pub trait Middleware: Send + Sync + 'static {
    /// A stable name, for reports.
    fn name(&self) -> &str;

    /// Decides before the effect runs.
    fn before(&self, _call: &Call, _input: &Input) -> Step {
        Step::Go
    }

    /// Asked only after [`Step::Wait`].
    ///
    /// # Cancel safety
    /// Dropped at the deadline, on abort, or when the caller drops the call.
    fn before_wait<'a>(&'a self, _call: &'a Call, _input: &'a Input) -> Waiting<'a> {
        undecided(ErrorName::SafetyViolation)
    }

    /// Hears of the outcome.
    fn after(&self, _call: &Call, _outcome: &Outcome<'_>) {}

    /// Counts or severs live text by kind and size; it never sees the text. Asked once, at registration, whether
    /// there is one.
    fn meter(&self) -> Option<&dyn MeterForm> {
        None
    }

    /// How long a waiting step may take; at the deadline the call is refused.
    fn deadline(&self) -> Duration {
        WAIT_DEADLINE_DEFAULT
    }
}

/// Middleware that rewrites input, before the authorizer sees it.
///
/// # Panics
/// A panic refuses the call.
pub trait InputMiddleware: Send + Sync + 'static {
    /// A stable name, for reports.
    fn name(&self) -> &str;

    /// Rewrites the input as the caller gave it (before it is coerced to the effect's type).
    fn rewrite(&self, call: &Call, input: &mut Input) -> Step;

    /// Asked only after [`Step::Wait`].
    fn rewrite_wait<'a>(&'a self, _call: &'a Call, _input: &'a mut Input) -> Waiting<'a> {
        undecided(ErrorName::SafetyViolation)
    }

    /// How long a waiting step may take.
    fn deadline(&self) -> Duration {
        WAIT_DEADLINE_DEFAULT
    }
}

/// Middleware that inspects output: the only kind that may read, rewrite or refuse it.
///
/// # The obligation
/// Whoever rewrites or refuses output answers for the live text too. Implementing this trait is the declaration;
/// [`OutputMiddleware::delta_form`] has no default, so the answer is said aloud. `None` blinds the streams of the
/// runtime: sinks get nothing, the call completes non-streamed, and a warning names this middleware (spec rows D10,
/// D13, D14). A form must agree with `inspect`: where an effect states its live text, text that differs from the
/// output fails the call.
///
/// # Panics
/// A panic refuses the call.
pub trait OutputMiddleware: Send + Sync + 'static {
    /// A stable name, for reports.
    fn name(&self) -> &str;

    /// Judges or rewrites the whole output of one attempt.
    fn inspect(&self, call: &Call, output: &mut Output) -> Step;

    /// Asked only after [`Step::Wait`].
    fn inspect_wait<'a>(&'a self, _call: &'a Call, _output: &'a mut Output) -> Waiting<'a> {
        undecided(ErrorName::SafetyViolation)
    }

    /// The form of the inspection that judges live text, or `None` for a blind stream. Its presence and kinds are
    /// read once, at registration.
    fn delta_form(&self) -> Option<&dyn DeltaForm>;

    /// How long a waiting step may take.
    fn deadline(&self) -> Duration {
        WAIT_DEADLINE_DEFAULT
    }
}
