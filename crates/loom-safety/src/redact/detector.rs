//! What finds the matches that a redaction replaces.

use crate::rule::{Finding, RuleId};

/// Finds every match of its rules in a text, so that a [`Redaction`](crate::Redaction) can replace them.
///
/// [`PiiValidator`](crate::PiiValidator) and [`DenyPatterns`](crate::DenyPatterns) are detectors.
///
/// # Contract
/// - What is found is a function of the text: live text and output are searched apart and must agree.
/// - Matches that overlap are all reported; together they are replaced once. A range that cuts a character covers
///   it, and a range that covers nothing counts as the whole text, since a finding must never be lost.
/// - A finding's rule is one of [`rules`](Self::rules); another refuses the call.
///
/// # Panics
/// A panic refuses the call.
pub trait Detector: Send + Sync + 'static {
    /// Every rule that it may report. Asked once, when the redaction is made.
    fn rules(&self) -> Vec<RuleId>;

    /// Shows `found` every match in `text`, in any order.
    fn detect(&self, text: &str, found: &mut dyn FnMut(Finding));
}

impl<D: Detector> From<D> for Box<dyn Detector> {
    fn from(detector: D) -> Self {
        Box::new(detector)
    }
}
