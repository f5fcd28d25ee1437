//! Why a set of deny patterns could not be made. No pattern is ever shown: a deny list may be a secret.

use std::fmt;

/// A deny pattern that was refused at construction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deny {position}: {fault}")]
pub struct DenyPatternError {
    position: DenyPatternPosition,
    fault: DenyPatternFault,
}

impl DenyPatternError {
    pub(crate) const fn new(position: DenyPatternPosition, fault: DenyPatternFault) -> Self {
        Self { position, fault }
    }

    /// Which pattern it is.
    #[must_use]
    pub const fn position(&self) -> DenyPatternPosition {
        self.position
    }

    /// What is wrong with it.
    #[must_use]
    pub const fn fault(&self) -> &DenyPatternFault {
        &self.fault
    }
}

/// Where a refused pattern stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenyPatternPosition {
    /// The n-th pattern given, from 1; 0 is the set as a whole.
    Pattern(usize),
    /// The n-th line of the file, from 1.
    Line(usize),
}

impl fmt::Display for DenyPatternPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(n) => write!(f, "pattern {n}"),
            Self::Line(n) => write!(f, "line {n}"),
        }
    }
}

/// What is wrong with a deny pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DenyPatternFault {
    /// The set has no pattern; a guard that guards nothing is a mistake.
    #[error("expected at least one pattern, found none")]
    NoPatterns,
    /// The set has too many patterns.
    #[error("expected at most {max} patterns")]
    TooMany {
        /// The bound.
        max: usize,
    },
    /// The pattern is longer than its bound.
    #[error("expected at most {max} bytes, found {bytes}")]
    TooLong {
        /// The pattern's length.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// The compiled pattern is larger than its bound.
    #[error("compiles to more than {bytes_max} bytes: use smaller repetitions or character classes")]
    TooLarge {
        /// The bound.
        bytes_max: usize,
    },
    /// The pattern can match the empty text, so it would refuse everything.
    #[error("matches the empty text, so it would refuse every text")]
    MatchesEmpty,
    /// The pattern can match no text, so it would guard nothing.
    #[error("can match no text, so it would refuse nothing")]
    MatchesNothing,
    /// The pattern is not a regular expression of the `regex` crate's syntax; look-around and back-references are
    /// not part of it.
    #[error("not a regular expression at column {column}: {reason}")]
    Syntax {
        /// The column in the expression, from 1.
        column: usize,
        /// What the parser expected.
        reason: String,
    },
    /// A `/…/` line has a flag that is neither `i` nor `w`.
    #[error("expected only the flags `i` and `w` after the closing slash")]
    UnknownFlag,
    /// A `/…` line has no second slash.
    #[error("expected a closing slash")]
    Unclosed,
    /// The name has a character outside `[a-z0-9_-]`, is empty, too long, or a number (those are for patterns
    /// without a name).
    #[error("expected a name of 1 to 64 characters of `[a-z0-9_-]` that is not a number")]
    Name,
    /// Two patterns have one name.
    #[error("another pattern has this name")]
    NameTaken,
}
