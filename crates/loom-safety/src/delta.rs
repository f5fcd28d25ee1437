//! The delta form of a validator: a judge for the running text of one attempt on one lane, asked before each delta
//! is delivered.
//!
//! A shipped judge keeps the attempt's whole text and asks whether it holds a match *now*, the end of the
//! text so far counting as a word boundary. Text before the completing delta has been delivered by then; nothing of
//! that delta is.

use loom_effect_runtime::{DeltaKinds, Violation};

use crate::rule::{Finding, RuleId};

/// Longest text of one attempt and lane that a shipped judge takes, and longest output text a shipped validator
/// passes; more is refused under `text-limit`.
pub const GUARD_TEXT_BYTES_MAX: usize = 1 << 20;

/// Longest single input text that a shipped validator passes; more is refused under `text-limit`. The runtime's own
/// cap on inputs is the same.
pub const INPUT_TEXT_BYTES_MAX: usize = 8 << 20;

/// A validator's delta form: makes a fresh judge for each attempt and lane.
///
/// # Contract
/// What the validator's output form refuses, its judge must refuse in the same text however it is cut into deltas;
/// it may refuse more (a match at the end of the text so far that the next character undoes).
pub trait DeltaCheck: Send + Sync {
    /// A judge that has seen nothing.
    fn judge(&self) -> Box<dyn DeltaJudge>;

    /// Which kinds of live text the judge is good for. What a kind left out would bring is delivered to nobody.
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }
}

/// Judges the running text of one attempt on one lane.
pub trait DeltaJudge: Send {
    /// Takes the next delta.
    ///
    /// # Errors
    /// A violation severs the stream before this delta is delivered. The judge is not asked again.
    fn push(&mut self, delta: &str) -> Result<(), Violation>;
}

/// The violation that a finding in `text` is, where `text` began `chars_before` code points into the attempt.
pub(crate) fn violation(finding: Finding, text: &str, chars_before: u64) -> Violation {
    let place = finding.place_in(text);
    Violation::safety(finding.rule.into_cow()).at(chars_before + place.offset_chars, place.length_chars)
}

/// Finds matches in a text that grows.
pub(crate) trait Search {
    /// A match in `text` if there is one, given that there was none in `text[..from]`.
    fn earliest(&self, text: &str, from: usize) -> Option<Finding>;
}

/// Judges a whole text of the input or the output.
pub(crate) fn judge_whole(search: &impl Search, text: &str, bytes_max: usize) -> Result<(), Finding> {
    if text.len() > bytes_max {
        return Err(Finding::whole(RuleId::TEXT_LIMIT, text));
    }
    search.earliest(text, 0).map_or(Ok(()), Err)
}

/// The judge of the shipped validators: the text so far, searched at each delta.
pub(crate) struct RunningText<S> {
    search: S,
    text: String,
}

impl<S: Search> RunningText<S> {
    pub(crate) const fn new(search: S) -> Self {
        Self { search, text: String::new() }
    }
}

impl<S: Search + Send> DeltaJudge for RunningText<S> {
    fn push(&mut self, delta: &str) -> Result<(), Violation> {
        let from = self.text.len();
        if delta.len() > GUARD_TEXT_BYTES_MAX - from {
            let chars_before = self.text.chars().count() as u64;
            return Err(violation(Finding::whole(RuleId::TEXT_LIMIT, delta), delta, chars_before));
        }
        self.text.push_str(delta);
        match self.search.earliest(&self.text, from) {
            Some(finding) => Err(violation(finding, &self.text, 0)),
            None => Ok(()),
        }
    }
}
