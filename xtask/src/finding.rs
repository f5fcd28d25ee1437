//! What a judge reports: a place, the rule it breaks, and why.

use std::fmt;

/// One broken rule at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The rule, by the name `--sabotage` knows.
    pub(crate) rule: &'static str,
    /// A file with its line, a crate, or a row.
    pub(crate) place: String,
    /// What is wrong and what was expected.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { rule, place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.place, self.message, self.rule)
    }
}

/// A judge's whole answer: what it read, said to a person, and what it found wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Facts worth printing whether or not anything is wrong.
    pub(crate) lines: Vec<String>,
    /// Broken rules; empty means the judge is content.
    pub(crate) findings: Vec<Finding>,
    /// What falls short of an aim; a finding only where that is asked for.
    pub(crate) advice: Vec<Finding>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        for advice in &self.advice {
            writeln!(f, "advice: {advice}")?;
        }
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        Ok(())
    }
}
