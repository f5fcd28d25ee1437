//! Endorsement: from untrusted content to a trusted value, through a validator with a small output type.
//!
//! A validator that may return anything is an unwrap with another name. So what comes out is bound to be small: a
//! `Copy` value of at most [`SMALL_BYTES_MAX`] bytes (an enum, a number, a flag), or a [`Matched`] text.
//!
//! ```
//! use loom_classify::endorse::OneOf;
//! use loom_classify::{TaintOrigin, Tainted};
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! enum Verdict {
//!     Approve,
//!     Refuse,
//! }
//!
//! let verdicts = OneOf::new([("approve", Verdict::Approve), ("refuse", Verdict::Refuse)]);
//! let answer = Tainted::new("approve".to_owned(), TaintOrigin::llm("judge"));
//! assert_eq!(answer.endorse(&verdicts)?, Verdict::Approve);
//! # Ok::<(), loom_classify::endorse::Rejected>(())
//! ```

mod matched;
mod shipped;

use std::fmt;

pub use matched::{MATCHED_BYTES_MAX, Matched};
pub use shipped::{BoundedText, IntegerRange, OneOf};

/// The largest output of an endorsement that is plain data, in bytes.
pub const SMALL_BYTES_MAX: usize = 16;

/// A type that is too small to carry text out of its taint.
///
/// Implemented for every `Copy + 'static` type, and for [`Matched`]; there is nothing to write. That it is at most
/// [`SMALL_BYTES_MAX`] bytes is checked where an endorsement is compiled. A `&'static str` fits: it is the program's
/// own text.
pub trait Small: 'static {
    /// The bytes left below the bound. A type that is too large leaves less than none, which does not compile.
    #[doc(hidden)]
    const SPARE_BYTES: usize;
}

impl<T: Copy + 'static> Small for T {
    const SPARE_BYTES: usize = SMALL_BYTES_MAX - size_of::<T>();
}

/// A validator that turns untrusted content into a small trusted value.
///
/// # Contract
/// `endorse` decides by the content alone, and what it returns is safe wherever that type is trusted. An error does
/// not quote the content. A validator of `str` serves `String` and `&str` too.
pub trait Endorser<T: ?Sized> {
    /// What comes out.
    type Out: Small;

    /// The validator's name, for the audit trail and for errors.
    fn name(&self) -> &'static str;

    /// Judges the content.
    ///
    /// # Errors
    /// [`Rejected`] when the content is not what the validator accepts.
    fn endorse(&self, untrusted: &T) -> Result<Self::Out, Rejected>;
}

impl<E: Endorser<str>> Endorser<String> for E {
    type Out = E::Out;

    fn name(&self) -> &'static str {
        Endorser::<str>::name(self)
    }

    fn endorse(&self, untrusted: &String) -> Result<E::Out, Rejected> {
        Endorser::<str>::endorse(self, untrusted)
    }
}

impl<E: Endorser<str>> Endorser<&str> for E {
    type Out = E::Out;

    fn name(&self) -> &'static str {
        Endorser::<str>::name(self)
    }

    fn endorse(&self, untrusted: &&str) -> Result<E::Out, Rejected> {
        Endorser::<str>::endorse(self, untrusted)
    }
}

/// A validator refused the content. It says what was expected, and has no place for what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Rejected {
    endorser: &'static str,
    expected: &'static str,
    range: Option<(i64, i64)>,
}

impl Rejected {
    /// A refusal by the validator `endorser`, which expected `expected`: both are the program's own text.
    #[must_use]
    pub const fn new(endorser: &'static str, expected: &'static str) -> Self {
        Self { endorser, expected, range: None }
    }

    /// The same with the range in which something was expected, both ends included.
    #[must_use]
    pub const fn within(self, min: i64, max: i64) -> Self {
        Self { range: Some((min, max)), ..self }
    }

    /// The name of the validator.
    #[must_use]
    pub const fn endorser(&self) -> &'static str {
        self.endorser
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` refused untrusted content: expected {}", self.endorser, self.expected)?;
        match self.range {
            Some((min, max)) => write!(f, " from {min} to {max}"),
            None => Ok(()),
        }
    }
}
