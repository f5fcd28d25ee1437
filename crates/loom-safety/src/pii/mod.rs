//! Personal data: payment cards, e-mail addresses, US social security numbers and IBANs.
//!
//! Each detector judges **every** start and **every** end, because a search that skips over a failed candidate is
//! evaded by four digits before a card. Boundaries are ASCII `\b`; the end of the text is one.

mod card;
mod email;
mod iban;
mod ssn;

use std::ops::Range;

use crate::delta::Search;
use crate::rule::{Finding, RuleId, earlier};

/// A kind of personal data that [`PiiValidator`](crate::PiiValidator) looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PiiRule {
    /// `pii.card`: 13 to 19 digits with single spaces or hyphens between, a known issuer range with a length it
    /// issues, Luhn.
    Card,
    /// `pii.email`: an RFC 5321 dot-atom address of ASCII, local part of at most 64 characters, at least two domain
    /// labels.
    Email,
    /// `pii.ssn`: `AAA-GG-SSSS` with an area, a group and a serial that can be issued, and not a voided sample
    /// number.
    Ssn,
    /// `pii.iban`: a country of the registry with its length, compact or with single spaces, in either case, mod
    /// 97.
    Iban,
}

impl PiiRule {
    /// Every rule, in the order of the enum.
    pub const ALL: [Self; 4] = [Self::Card, Self::Email, Self::Ssn, Self::Iban];

    /// The rule's stable id.
    #[must_use]
    pub const fn id(self) -> RuleId {
        RuleId::new(match self {
            Self::Card => "pii.card",
            Self::Email => "pii.email",
            Self::Ssn => "pii.ssn",
            Self::Iban => "pii.iban",
        })
    }

    /// Of the matches in `text` that end after byte `from`, the one that ends first and, of those, starts first.
    ///
    /// Looks back from `from` by no more than the rule's widest match (card 37 bytes, SSN 11, IBAN 64, e-mail 318),
    /// so the cost depends on the length of the new text alone.
    ///
    /// ```
    /// use loom_safety::PiiRule;
    /// let found = PiiRule::Card.earliest("2026 4111 1111 1111 1111", 0);
    /// assert_eq!(found.map(|finding| finding.range), Some(5..24));
    /// ```
    #[must_use]
    pub fn earliest(self, text: &str, from: usize) -> Option<Finding> {
        let bytes = text.as_bytes();
        let range = match self {
            Self::Card => earliest_of(bytes, from, card::WIDTH_BYTES_MAX, card::first_end),
            Self::Email => email::earliest(bytes, from),
            Self::Ssn => earliest_of(bytes, from, ssn::WIDTH_BYTES, ssn::first_end),
            Self::Iban => earliest_of(bytes, from, iban::WIDTH_BYTES_MAX, iban::first_end),
        };
        range.map(|range| Finding::new(self.id(), range))
    }

    /// Shows `found` what the matches in `text` cover, however they overlap: for each start, up to its last end.
    pub(crate) fn cover(self, text: &str, mut found: impl FnMut(Finding)) {
        let bytes = text.as_bytes();
        let mut found = |range| found(Finding::new(self.id(), range));
        match self {
            Self::Card => cover_of(bytes, card::first_end, &mut found),
            Self::Email => email::cover(bytes, &mut found),
            Self::Ssn => cover_of(bytes, ssn::first_end, &mut found),
            Self::Iban => cover_of(bytes, iban::first_end, &mut found),
        }
    }
}

/// A set of rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PiiRules(pub(crate) [bool; PiiRule::ALL.len()]);

impl PiiRules {
    pub(crate) const ALL: Self = Self([true; PiiRule::ALL.len()]);

    pub(crate) fn of(rules: &[PiiRule]) -> Self {
        Self(PiiRule::ALL.map(|rule| rules.contains(&rule)))
    }

    pub(crate) fn chosen(self) -> impl Iterator<Item = PiiRule> {
        PiiRule::ALL.into_iter().zip(self.0).filter_map(|(rule, on)| on.then_some(rule))
    }
}

impl Search for PiiRules {
    fn earliest(&self, text: &str, from: usize) -> Option<Finding> {
        self.chosen().map(|rule| rule.earliest(text, from)).fold(None, earlier)
    }
}

/// Asks `first_end(text, start, from)` at every start whose match could end after `from`.
fn earliest_of(
    text: &[u8],
    from: usize,
    width_bytes_max: usize,
    first_end: impl Fn(&[u8], usize, usize) -> Option<usize>,
) -> Option<Range<usize>> {
    let mut best: Option<Range<usize>> = None;
    for start in (from + 1).saturating_sub(width_bytes_max)..text.len() {
        if best.as_ref().is_some_and(|best| start >= best.end) {
            break;
        }
        if let Some(end) = first_end(text, start, from)
            && best.as_ref().is_none_or(|best| end < best.end)
        {
            best = Some(start..end);
        }
    }
    best
}

fn cover_of(
    text: &[u8],
    first_end: impl Fn(&[u8], usize, usize) -> Option<usize>,
    found: &mut impl FnMut(Range<usize>),
) {
    for start in 0..text.len() {
        if let Some(end) = last_end(start, |from| first_end(text, start, from)) {
            found(start..end);
        }
    }
}

/// The last of the ends that `next` gives one after the other, each after the one before.
fn last_end(start: usize, next: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    std::iter::successors(next(start), |end| next(*end)).last()
}
