//! A violation: the answer of a delta guard or meter that severs a stream.

use std::borrow::Cow;
use std::fmt;

use crate::names::ErrorName;

/// Why a stream was severed: rule, offset and length, never the text. One word wide; never retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    name: ErrorName,
    rule: Cow<'static, str>,
    offset: Option<u64>,
    length: Option<u64>,
}

impl Violation {
    /// A guard's rule matched the live text.
    #[cold]
    #[must_use]
    pub fn safety(rule: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorName::SafetyViolation, rule)
    }

    /// A meter's budget is used up.
    #[cold]
    #[must_use]
    pub fn quota(rule: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorName::QuotaExceeded, rule)
    }

    /// Says where the match begins and how long it is, in code points of the original text of the lane.
    #[must_use]
    pub fn at(mut self, offset: u64, length: u64) -> Self {
        self.0.offset = Some(offset);
        self.0.length = Some(length);
        self
    }

    /// The stable name: `SafetyViolationError` of a guard, `QuotaExceededError` of a meter.
    #[must_use]
    pub fn name(&self) -> ErrorName {
        self.0.name
    }

    /// The rule that severed.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.0.rule
    }

    /// Where the match begins, in code points of the original text of the lane.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// How long the match is, in code points.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.0.length
    }

    fn new(name: ErrorName, rule: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { name, rule: rule.into(), offset: None, length: None }))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "severed by rule `{}`", self.0.rule)?;
        if let (Some(offset), Some(length)) = (self.0.offset, self.0.length) {
            write!(f, " at offset {offset}, length {length}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Violation {}
