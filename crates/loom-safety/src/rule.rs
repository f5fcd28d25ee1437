//! What a validator reports: the rule that matched and where, never the text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The stable name of a rule: `pii.card`, `pii.email`, `pii.ssn`, `pii.iban`, `deny.<n>` or `deny.<name>`,
/// `text-limit`, or a third party's own.
///
/// A rule id comes from the program or its configuration, so it may be shown and logged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(Cow<'static, str>);

impl RuleId {
    /// The rule under which text is refused because it is longer than its stated bound.
    pub const TEXT_LIMIT: Self = Self::new("text-limit");

    /// A rule known at compile time.
    #[must_use]
    pub const fn new(id: &'static str) -> Self {
        Self(Cow::Borrowed(id))
    }

    /// A rule named by configuration.
    #[must_use]
    pub const fn owned(id: String) -> Self {
        Self(Cow::Owned(id))
    }

    /// The id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_cow(self) -> Cow<'static, str> {
        self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One match of a rule in a text that a validator judged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that matched.
    pub rule: RuleId,
    /// Where it matched, in bytes of the judged text.
    pub range: Range<usize>,
}

impl Finding {
    /// A match at a byte range of the judged text.
    #[must_use]
    pub const fn new(rule: RuleId, range: Range<usize>) -> Self {
        Self { rule, range }
    }

    /// A verdict on the whole of the judged text, for a rule that has no position.
    #[must_use]
    pub const fn whole(rule: RuleId, text: &str) -> Self {
        Self { rule, range: 0..text.len() }
    }

    /// The finding's place in code points of `text`.
    ///
    /// A range that leaves `text` or cuts a character is a third party's mistake: it is clamped, since a finding
    /// must never be lost.
    #[must_use]
    pub fn place_in(&self, text: &str) -> Place {
        let chars_before = |byte: usize| {
            let byte = text.floor_char_boundary(byte);
            text.get(..byte).map_or(0, |head| head.chars().count())
        };
        let start = chars_before(self.range.start);
        let end =
            text.get(..text.ceil_char_boundary(self.range.end)).map_or(start, |head| head.chars().count());
        Place { offset_chars: start as u64, length_chars: end.saturating_sub(start) as u64 }
    }

    /// Whether this finding is to be told rather than `other`: it ends earlier, or ends there too and starts
    /// earlier.
    pub(crate) fn precedes(&self, other: &Self) -> bool {
        (self.range.end, self.range.start) < (other.range.end, other.range.start)
    }
}

/// A place in a text, in Unicode code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Code points before the match.
    pub offset_chars: u64,
    /// Code points in the match.
    pub length_chars: u64,
}

/// The earlier of two findings, by end and then by start.
pub(crate) fn earlier(a: Option<Finding>, b: Option<Finding>) -> Option<Finding> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.precedes(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_code_points_of_the_original() {
        let text = "né 🙂 4111";
        let at = text.find('4').unwrap();
        let place = Finding::new(RuleId::new("x"), at..text.len()).place_in(text);
        assert_eq!((place.offset_chars, place.length_chars), (5, 4));
    }

    #[test]
    fn a_range_outside_the_text_is_clamped_and_not_lost() {
        let place = Finding::new(RuleId::new("x"), 1..99).place_in("é");
        assert_eq!((place.offset_chars, place.length_chars), (0, 1));
    }
}
