//! Guards that judge live text before it is delivered, and meters that count it.

use super::{DeltaKind, DeltaKinds, Lane};
use crate::call::CallInfo;
use crate::error::Violation;

/// A guard's answer to one piece of text.
#[must_use]
#[derive(Debug)]
pub enum Verdict {
    /// Go on with the piece unchanged.
    Pass,
    /// The guard spoke through the outlet: only what it passed there goes on (which may be nothing yet).
    Done,
    /// Sever: the piece is not delivered and the call fails.
    Sever(Violation),
}

/// The delta form of an output inspection: a factory of guards. Its presence is the coverage; it is asked for once,
/// at registration.
pub trait DeltaForm: Send + Sync {
    /// Which kinds the form covers. A kind that an inspector does not cover is delivered to nobody.
    fn kinds(&self) -> DeltaKinds;

    /// A fresh guard for one lane of one attempt (spec rows D10, D11).
    ///
    /// # Panics
    /// A panic severs the stream.
    fn guard(&self, call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard>;
}

/// A transducer over the text of one lane of one attempt.
///
/// # Contract
/// The verdict over a text must not depend on how it was split more than the guard's documentation says. A guard
/// that holds text back releases it in order, through the outlet, and flushes in `finish`. `push` returning
/// [`Verdict::Pass`] is not yet acceptance: a guard behind this one may sever.
///
/// # Panics
/// A panic severs the stream (fail closed).
pub trait DeltaGuard: Send {
    /// Judges the next piece; never empty.
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict;

    /// The lane ended well: settle what is open and flush what is held.
    ///
    /// # Errors
    /// A violation fails the attempt even here.
    fn finish(&mut self, out: &mut Outlet<'_>) -> Result<(), Violation>;
}

/// The way on for a guard that changes or delays text: guards behind it, then the sinks.
pub struct Outlet<'a> {
    pub(super) rest: &'a mut [super::lane::Guarded],
    pub(super) sinks: &'a mut dyn Deliver,
}

impl Outlet<'_> {
    /// Passes text on. A violation further down is sticky: the stream is severed whatever this guard answers.
    pub fn pass(&mut self, text: &str) {
        super::lane::run(self.rest, self.sinks, text);
    }
}

impl std::fmt::Debug for Outlet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlet").field("guards_behind", &self.rest.len()).finish_non_exhaustive()
    }
}

/// What stands behind the last guard.
pub(super) trait Deliver {
    /// Delivers text that every guard accepted.
    fn deliver(&mut self, text: &str);

    /// The violation that severed the stream on the way here; the first stands.
    fn severed(&mut self) -> &mut Option<Violation>;

    /// Itself without its type: what an outlet holds.
    fn as_dyn(&mut self) -> &mut dyn Deliver;
}

/// The metering form of a middleware: a factory of meters.
pub trait MeterForm: Send + Sync + 'static {
    /// A fresh meter for one attempt.
    ///
    /// # Panics
    /// A panic severs the stream.
    fn meter(&self, call: &CallInfo) -> Box<dyn Meter>;
}

/// Sees kinds and sizes of what the model made, before the guards; never text (spec row D14).
pub trait Meter: Send {
    /// Counts one piece.
    ///
    /// # Errors
    /// A violation severs before the piece is delivered (spec row D7).
    fn observe(&mut self, kind: DeltaKind, bytes: usize) -> Result<(), Violation>;
}
