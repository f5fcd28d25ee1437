//! Deny patterns: literals and regular expressions that must not occur.

mod error;
mod lines;
mod pattern;

use std::sync::Arc;

pub use error::{DenyPatternError, DenyPatternFault, DenyPatternPosition};
pub use pattern::DenyPattern;

use crate::delta::{DeltaCheck, DeltaJudge, RunningText, Search, judge_whole};
use crate::redact::Detector;
use crate::rule::{Finding, RuleId, earlier};
use crate::validator::{Judges, Phase, SafetyValidator};
use pattern::Rule;

/// Refuses texts in which one of its patterns occurs.
///
/// The patterns are compiled once and shared by every call. Text is matched as it stands: no Unicode normalisation,
/// no folding of look-alikes.
///
/// # Cost
/// The delta form searches, per pattern and delta, the new text and as many bytes before it as the pattern's widest
/// match has. A regular expression without such a bound (`key.*=`) is searched from the start of the attempt's text
/// at each delta: quadratic in the text, which [`GUARD_TEXT_BYTES_MAX`](crate::GUARD_TEXT_BYTES_MAX) bounds. Write
/// `.{0,80}` where you can.
///
/// ```
/// use loom_safety::{DenyPattern, DenyPatterns, Phase, SafetyValidator};
///
/// let deny = DenyPatterns::new([
///     DenyPattern::literal("project zephyr").ignoring_case().word_bounded().named("codename"),
///     DenyPattern::regex(r"sk-[A-Za-z0-9]{20}"),
/// ])?;
/// let finding = deny.check(Phase::Output, "about Project Zephyr:").unwrap_err();
/// assert_eq!(finding.rule.as_str(), "deny.codename");
/// # Ok::<(), loom_safety::DenyPatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DenyPatterns {
    rules: Arc<[Rule]>,
    judges: Judges,
}

impl DenyPatterns {
    /// Most patterns in one set.
    pub const PATTERNS_MAX: usize = 1_000;

    /// How much of a text its patterns read again when every match is looked for, in bytes over all patterns. Each
    /// match of a pattern costs its widest match, or the rest of the text where it has none; beyond the bound the
    /// rest of the text counts as matched.
    pub const SCAN_BYTES_MAX: usize = 64 << 20;

    /// Compiles a set. A pattern without a name is `deny.<n>`, n counting from 1.
    ///
    /// # Errors
    /// The first pattern that is empty, can match the empty text or nothing at all, is not a regular expression, is
    /// over a size limit, or whose name is taken or not of `[a-z0-9_-]`, with its position; or a set that is empty
    /// or too large.
    pub fn new(patterns: impl IntoIterator<Item = DenyPattern>) -> Result<Self, DenyPatternError> {
        Self::compile(
            patterns
                .into_iter()
                .enumerate()
                .map(|(at, pattern)| Ok((DenyPatternPosition::Pattern(at + 1), pattern))),
        )
    }

    /// Compiles the patterns of a deny file, one a line.
    ///
    /// - blank lines and lines that begin with `#` are skipped; white space at the ends of a line is no part of it;
    /// - `/…/` is a regular expression, with the flags `i` (ignoring case) and `w` (word-bounded) after the
    ///   second slash;
    /// - `\` at the start takes the rest of the line as a literal as it is, case and all;
    /// - any other line is a literal, ignoring case and word-bounded.
    ///
    /// A pattern's rule is `deny.<n>`, n counting the patterns from 1.
    ///
    /// # Errors
    /// As [`new`](Self::new), with the line's number.
    pub fn from_lines(text: &str) -> Result<Self, DenyPatternError> {
        Self::compile(lines::parse(text))
    }

    /// Judges these phases only.
    #[must_use]
    pub const fn judging(mut self, judges: Judges) -> Self {
        self.judges = judges;
        self
    }

    fn compile(
        patterns: impl Iterator<Item = Result<(DenyPatternPosition, DenyPattern), DenyPatternError>>,
    ) -> Result<Self, DenyPatternError> {
        let mut rules: Vec<Rule> = Vec::new();
        for entry in patterns {
            let (position, pattern) = entry?;
            let fault = |fault| DenyPatternError::new(position, fault);
            if rules.len() == Self::PATTERNS_MAX {
                return Err(fault(DenyPatternFault::TooMany { max: Self::PATTERNS_MAX }));
            }
            let rule = pattern.compile(rules.len() + 1).map_err(fault)?;
            if rules.iter().any(|other| other.id == rule.id) {
                return Err(fault(DenyPatternFault::NameTaken));
            }
            rules.push(rule);
        }
        if rules.is_empty() {
            return Err(DenyPatternError::new(DenyPatternPosition::Pattern(0), DenyPatternFault::NoPatterns));
        }
        Ok(Self { rules: rules.into(), judges: Judges::Both })
    }
}

impl Search for DenyPatterns {
    fn earliest(&self, text: &str, from: usize) -> Option<Finding> {
        self.rules.iter().map(|rule| rule.find(text, from)).fold(None, earlier)
    }
}

impl SafetyValidator for DenyPatterns {
    fn name(&self) -> &str {
        "deny"
    }

    fn check(&self, phase: Phase, text: &str) -> Result<(), Finding> {
        judge_whole(self, text, phase.text_bytes_max())
    }

    fn judges(&self) -> Judges {
        self.judges
    }

    fn delta(&self) -> Option<&dyn DeltaCheck> {
        Some(self)
    }
}

impl DeltaCheck for DenyPatterns {
    fn judge(&self) -> Box<dyn DeltaJudge> {
        Box::new(RunningText::new(self.clone()))
    }
}

/// A match is what the regular expression gives at a start: of alternatives, the first that fits (`a|ab` is `a`).
impl Detector for DenyPatterns {
    fn rules(&self) -> Vec<RuleId> {
        self.rules.iter().map(|rule| rule.id.clone()).collect()
    }

    fn detect(&self, text: &str, found: &mut dyn FnMut(Finding)) {
        let mut scan_bytes_left = Self::SCAN_BYTES_MAX;
        self.rules.iter().for_each(|rule| rule.cover(text, &mut scan_bytes_left, found));
    }
}
