//! The one function that output and live text are redacted by.

use loom_effect_runtime::CallInfo;

use super::detector::Detector;
use super::fault::Fault;
use super::placeholder::Placeholders;
use super::spans::{Rendered, Spans};
use crate::delta::GUARD_TEXT_BYTES_MAX;
use crate::rule::Finding;

/// How often a text is searched again because a match arose from a placeholder and what stands beside it.
const PASSES_MAX: usize = 8;

/// Most matches that are told apart in one text; with more, the whole text is one.
const MATCHES_MAX: usize = 1 << 16;

/// Detectors and what their matches are replaced by.
pub(super) struct Engine {
    pub(super) detectors: Vec<Box<dyn Detector>>,
    pub(super) placeholders: Placeholders,
}

impl Engine {
    /// `text` with a placeholder for every stretch of matches; `None` where nothing matches.
    ///
    /// Nothing matches in the result. A match that arises from a placeholder and its neighbours widens the stretch
    /// in the original; when that does not settle, the whole text is one stretch.
    ///
    /// # Errors
    /// The fault for which the text must not pass.
    pub(super) fn redact(&self, call: &CallInfo, text: &str) -> Result<Option<String>, Fault> {
        if text.len() > GUARD_TEXT_BYTES_MAX {
            return Err(Fault::TextLimit);
        }
        let spans = Spans::of(text, self.detect(text));
        if spans.is_empty() {
            return Ok(None);
        }
        let (spans, rendered) = self.settle(call, text, spans)?;
        self.placeholders.keep(call, spans.each(text))?;
        Ok(Some(rendered.text))
    }

    /// Whether anything matches in `text`.
    pub(super) fn matches(&self, text: &str) -> bool {
        !self.detect(text).is_empty()
    }

    fn settle(&self, call: &CallInfo, text: &str, mut spans: Spans) -> Result<(Spans, Rendered), Fault> {
        let render = |spans: &Spans| {
            Rendered::of(text, spans, |span, value| self.placeholders.of(call, &span.rule, value))
        };
        for _ in 0..PASSES_MAX {
            let rendered = render(&spans)?;
            let arisen = self.detect(&rendered.text);
            if arisen.is_empty() {
                return Ok((spans, rendered));
            }
            let arisen = arisen.into_iter().map(|mut finding| {
                finding.range = rendered.original(&finding.range);
                finding
            });
            let widened = spans.and(text, arisen);
            if widened == spans {
                break;
            }
            spans = widened;
        }
        let spans = spans.whole(text);
        let rendered = render(&spans)?;
        if self.matches(&rendered.text) { Err(Fault::PlaceholderMatches) } else { Ok((spans, rendered)) }
    }

    fn detect(&self, text: &str) -> Vec<Finding> {
        let mut found = Vec::new();
        for detector in &self.detectors {
            detector.detect(text, &mut |mut finding| {
                if found.len() == MATCHES_MAX {
                    found.clear();
                    finding.range = 0..text.len();
                }
                found.push(finding);
            });
        }
        found
    }
}
