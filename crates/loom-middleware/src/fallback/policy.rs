//! For which failures the next tool is tried, and what ends a fallback by itself.

use loom_effect_runtime::{CallError, ErrorName, Refusal};

use crate::retry::{Decides, is_passing};

/// The most tools of one fallback.
pub const FALLBACK_TOOLS_MAX: usize = 8;

/// Whether the next tool is tried after `error`. A refusal, a sever or an abort is above what `when` says.
pub(super) fn goes_on(error: &CallError, when: Option<&Decides>) -> bool {
    !error.is_refusal() && when.map_or_else(|| is_passing(error), |when| when(error))
}

#[cold]
pub(super) fn too_many() -> CallError {
    Refusal::quota("fallback.tools").into()
}

#[cold]
pub(super) fn when_panicked() -> CallError {
    Refusal::safety("fallback.panicked").into()
}

#[cold]
pub(super) fn input_panicked() -> CallError {
    CallError::named(ErrorName::InputInvalid, "the input panicked when it was copied")
}
