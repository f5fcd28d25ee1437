//! The validators that come with the crate.

use super::{Endorser, MATCHED_BYTES_MAX, Matched, Rejected, Small};

/// Accepts exactly the listed texts, and gives what stands beside the one that came.
///
/// The comparison is byte by byte: no trimming, no folding of case.
#[derive(Clone, Debug)]
pub struct OneOf<C> {
    choices: Box<[(Box<str>, C)]>,
}

impl<C: Small + Clone> OneOf<C> {
    /// Each accepted text, with what it stands for. The first of two equal texts counts.
    pub fn new<S: Into<Box<str>>>(choices: impl IntoIterator<Item = (S, C)>) -> Self {
        Self { choices: choices.into_iter().map(|(text, choice)| (text.into(), choice)).collect() }
    }
}

impl OneOf<usize> {
    /// The accepted texts; what comes out is the index in this list.
    pub fn texts<S: Into<Box<str>>>(texts: impl IntoIterator<Item = S>) -> Self {
        Self::new(texts.into_iter().enumerate().map(|(index, text)| (text, index)))
    }
}

impl<C: Small + Clone> Endorser<str> for OneOf<C> {
    type Out = C;

    fn name(&self) -> &'static str {
        "one_of"
    }

    fn endorse(&self, untrusted: &str) -> Result<C, Rejected> {
        let choice = self.choices.iter().find(|(text, _)| &**text == untrusted);
        choice.map(|(_, choice)| choice.clone()).ok_or(Rejected::new("one_of", "one of the listed texts"))
    }
}

/// Accepts text of a bounded number of characters that stays on its line: no control characters, line breaks, bidi
/// marks or invisible tags, and not blank. What comes out is the text.
#[derive(Clone, Copy, Debug)]
pub struct BoundedText {
    chars_min: usize,
    chars_max: usize,
}

impl BoundedText {
    /// From `chars_min` to `chars_max` characters, both included. The text must also fit a [`Matched`], which
    /// 64 characters always do.
    #[must_use]
    pub const fn chars(chars_min: usize, chars_max: usize) -> Self {
        Self { chars_min, chars_max }
    }
}

impl Endorser<str> for BoundedText {
    type Out = Matched;

    fn name(&self) -> &'static str {
        "bounded_text"
    }

    fn endorse(&self, untrusted: &str) -> Result<Matched, Rejected> {
        let bound = |chars: usize| i64::try_from(chars).unwrap_or(i64::MAX);
        // Whatever is longer than a match can be is not counted, however long it is.
        let chars = untrusted.chars().take(MATCHED_BYTES_MAX + 1).count();
        if chars < self.chars_min || chars > self.chars_max {
            let expected = Rejected::new("bounded_text", "a number of characters");
            return Err(expected.within(bound(self.chars_min), bound(self.chars_max)));
        }
        if chars > 0 && untrusted.chars().all(char::is_whitespace) {
            return Err(Rejected::new("bounded_text", "text that is not blank"));
        }
        Matched::new(untrusted)
    }
}

/// Accepts a decimal integer in a range, and gives it: as a number, or as the text of one (an optional sign and
/// ASCII digits, nothing else).
#[derive(Clone, Copy, Debug)]
pub struct IntegerRange {
    min: i64,
    max: i64,
}

impl IntegerRange {
    /// From `min` to `max`, both included.
    #[must_use]
    pub const fn new(min: i64, max: i64) -> Self {
        Self { min, max }
    }

    fn rejected(&self) -> Rejected {
        Rejected::new("integer_range", "an integer").within(self.min, self.max)
    }
}

impl Endorser<i64> for IntegerRange {
    type Out = i64;

    fn name(&self) -> &'static str {
        "integer_range"
    }

    fn endorse(&self, untrusted: &i64) -> Result<i64, Rejected> {
        if (self.min..=self.max).contains(untrusted) { Ok(*untrusted) } else { Err(self.rejected()) }
    }
}

impl Endorser<str> for IntegerRange {
    type Out = i64;

    fn name(&self) -> &'static str {
        "integer_range"
    }

    fn endorse(&self, untrusted: &str) -> Result<i64, Rejected> {
        let number: i64 = untrusted.parse().map_err(|_| self.rejected())?;
        Endorser::<i64>::endorse(self, &number)
    }
}
