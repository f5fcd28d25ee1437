//! The stretches of a text that are replaced, and the text with placeholders in their place.

use std::cmp::Reverse;
use std::ops::Range;

use super::fault::Fault;
use crate::delta::GUARD_TEXT_BYTES_MAX;
use crate::rule::Finding;

/// What matches cover: stretches in order, apart from each other, on character boundaries, each under the rule of
/// its first match.
#[derive(Debug, PartialEq)]
pub(super) struct Spans(Vec<Finding>);

impl Spans {
    /// The stretches that `found` covers in `text`.
    pub(super) fn of(text: &str, mut found: Vec<Finding>) -> Self {
        for finding in &mut found {
            finding.range = clamped(&finding.range, text);
        }
        found.sort_by_key(|finding| (finding.range.start, Reverse(finding.range.end)));
        let mut spans: Vec<Finding> = Vec::new();
        for finding in found {
            match spans.last_mut() {
                Some(last) if finding.range.start < last.range.end => {
                    last.range.end = last.range.end.max(finding.range.end);
                }
                _ => spans.push(finding),
            }
        }
        Self(spans)
    }

    /// These and what `more` covers.
    pub(super) fn and(&self, text: &str, more: impl Iterator<Item = Finding>) -> Self {
        Self::of(text, self.0.iter().cloned().chain(more).collect())
    }

    /// The whole text as one stretch, under the rule of the first.
    pub(super) fn whole(mut self, text: &str) -> Self {
        self.0.truncate(1);
        for span in &mut self.0 {
            span.range = 0..text.len();
        }
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each stretch with its text.
    pub(super) fn each<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a Finding, &'a str)> {
        self.0.iter().map(|span| (span, text.get(span.range.clone()).unwrap_or_default()))
    }
}

/// A text with placeholders, and where each of them stands.
pub(super) struct Rendered {
    pub(super) text: String,
    placed: Vec<Placed>,
}

struct Placed {
    /// In the original.
    from: Range<usize>,
    /// In the rendered text.
    at: Range<usize>,
}

impl Rendered {
    /// `text` with each stretch replaced.
    ///
    /// # Errors
    /// What `placeholder` gives, and a result over the bound on texts.
    pub(super) fn of(
        text: &str,
        spans: &Spans,
        placeholder: impl Fn(&Finding, &str) -> Result<String, Fault>,
    ) -> Result<Self, Fault> {
        let mut rendered = Self { text: String::with_capacity(text.len()), placed: Vec::new() };
        let mut kept_from = 0;
        for (span, value) in spans.each(text) {
            rendered.text.push_str(text.get(kept_from..span.range.start).unwrap_or_default());
            let start = rendered.text.len();
            rendered.text.push_str(&placeholder(span, value)?);
            rendered.placed.push(Placed { from: span.range.clone(), at: start..rendered.text.len() });
            kept_from = span.range.end;
            if rendered.text.len() > GUARD_TEXT_BYTES_MAX {
                return Err(Fault::TextLimit);
            }
        }
        rendered.text.push_str(text.get(kept_from..).unwrap_or_default());
        if rendered.text.len() > GUARD_TEXT_BYTES_MAX { Err(Fault::TextLimit) } else { Ok(rendered) }
    }

    /// A range of the rendered text in the original; what cuts a placeholder takes in all that it stands for.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let range = clamped(range, &self.text);
        let start = self.byte(range.start).start;
        let end = range.end.checked_sub(1).map_or(start, |last| self.byte(last).end);
        start..end
    }

    /// What the byte at `at` stands for in the original.
    fn byte(&self, at: usize) -> Range<usize> {
        let before = self.placed.partition_point(|placed| placed.at.start <= at);
        match before.checked_sub(1).and_then(|last| self.placed.get(last)) {
            Some(placed) if at < placed.at.end => placed.from.clone(),
            Some(placed) => {
                let byte = placed.from.end + (at - placed.at.end);
                byte..byte + 1
            }
            None => at..at + 1,
        }
    }
}

/// The range on character boundaries; one that covers nothing is a detector's mistake and covers everything.
fn clamped(range: &Range<usize>, text: &str) -> Range<usize> {
    let (start, end) = (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
    if start < end { start..end } else { 0..text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::RuleId;

    fn finding(rule: &'static str, range: Range<usize>) -> Finding {
        Finding::new(RuleId::new(rule), range)
    }

    fn spans(text: &str, found: &[(&'static str, Range<usize>)]) -> Vec<(String, Range<usize>)> {
        let found = found.iter().map(|(rule, range)| finding(rule, range.clone())).collect();
        Spans::of(text, found).0.into_iter().map(|span| (span.rule.to_string(), span.range)).collect()
    }

    #[test]
    fn overlapping_matches_are_one_stretch_and_touching_ones_are_two() {
        let text = "0123456789";
        assert_eq!(
            spans(text, &[("b", 2..5), ("a", 0..3), ("c", 5..7), ("d", 5..6)]),
            [("a".to_owned(), 0..5), ("c".to_owned(), 5..7)]
        );
    }

    #[test]
    fn a_cut_character_is_covered_and_an_empty_range_covers_everything() {
        assert_eq!(spans("éé", &[("a", 1..3)]), [("a".to_owned(), 0..4)]);
        assert_eq!(spans("abc", &[("a", 2..2)]), [("a".to_owned(), 0..3)]);
        assert_eq!(spans("abc", &[("a", 7..9)]), [("a".to_owned(), 0..3)]);
    }

    #[test]
    fn a_range_of_the_rendered_text_is_found_in_the_original() {
        let text = "ab1234cd";
        let spans = Spans::of(text, vec![finding("n", 2..6)]);
        let rendered = Rendered::of(text, &spans, |_, _| Ok("[n]".to_owned())).unwrap();
        assert_eq!(rendered.text, "ab[n]cd");
        for (range, original) in [(0..2, 0..2), (1..3, 1..6), (3..4, 2..6), (4..6, 2..7), (5..7, 6..8)] {
            assert_eq!(rendered.original(&range), original, "{range:?}");
        }
    }
}
