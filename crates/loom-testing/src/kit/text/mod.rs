//! The kit of whoever sees text: delta forms, output middleware, safety validators.

mod agree;
#[cfg(feature = "allocations")]
mod allocations;
mod echo;
mod fresh;
mod hardy;
mod marker;
mod patience;
mod run;
mod stage;
mod swallow;
mod verdicts;

use std::fmt;
use std::sync::Arc;

use super::bounded::bounded;
use super::report::Report;
pub(super) use stage::{Alone, Instance};

/// What the splits of one text may differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// In the place of a match and in what was delivered before a sever.
    Even,
    /// In nothing.
    Exact,
    /// Also in severing at all, where the whole text is fine.
    Eager,
}

/// Checks of the author's trait that are more than what its middleware shows.
pub(super) type Also = Box<dyn FnOnce(&mut Report, &[String]) + Send>;

/// A kit that runs on one subject that sees text. [`TextKit::check`] is the whole of a test.
#[must_use = "a kit says nothing until it is run"]
pub struct TextKit {
    called: &'static str,
    make: Arc<dyn Fn() -> Instance + Send + Sync>,
    /// Whether outputs are judged too, or live text alone.
    inspects: bool,
    strictness: Strictness,
    texts: Vec<String>,
    also: Option<Also>,
    /// Whether `also` says which of the author's texts are refused.
    judged: bool,
    #[cfg(feature = "allocations")]
    allocations: Option<u64>,
}

impl TextKit {
    pub(super) fn new(
        called: &'static str,
        inspects: bool,
        make: impl Fn() -> Instance + Send + Sync + 'static,
    ) -> Self {
        Self {
            called,
            make: Arc::new(make),
            inspects,
            strictness: Strictness::Even,
            texts: Vec::new(),
            also: None,
            judged: false,
            #[cfg(feature = "allocations")]
            allocations: None,
        }
    }

    #[cfg(feature = "safety")]
    pub(super) fn also(mut self, also: Also) -> Self {
        self.also = Some(also);
        self.judged = true;
        self
    }

    /// Texts that the subject refuses or rewrites. Without them the kit sees it pass texts through and little more; one
    /// that it leaves alone is a fault. Short ones are best: each is cut in a hundred ways.
    pub fn texts<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.texts.extend(texts.into_iter().map(Into::into).filter(|text: &String| !text.is_empty()));
        self
    }

    /// Holds it to more: the place of a match, and what was delivered before a sever, do not depend on the split
    /// either. For guards that hold text back (spec row D19).
    pub fn exact(mut self) -> Self {
        self.strictness = Strictness::Exact;
        self
    }

    /// Holds it to less: it may sever for a match at the end of the text so far that the next character undoes. What it
    /// refuses as a whole it must refuse in every split.
    pub fn eager(mut self) -> Self {
        self.strictness = Strictness::Eager;
        self
    }

    /// Also counts: a benign delta of 16 bytes costs at most so many allocations more than it does without the subject.
    /// A buffer that doubles as it grows is not counted.
    #[cfg(feature = "allocations")]
    pub fn allocations_per_delta(mut self, allowed: u64) -> Self {
        self.allocations = Some(allowed);
        self
    }

    /// Runs every check on a thread of its own and tells what was found.
    pub fn report(self) -> Report {
        bounded(self.called, move |report| self.run(report))
    }

    /// Runs every check.
    ///
    /// # Panics
    /// With the whole report, where a fault was found: the test that calls this fails.
    #[track_caller]
    pub fn check(self) {
        self.report().assert();
    }
}

impl fmt::Debug for TextKit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextKit")
            .field("called", &self.called)
            .field("strictness", &self.strictness)
            .field("texts", &self.texts.len())
            .finish_non_exhaustive()
    }
}

/// A text as a report quotes it.
fn short(text: &str) -> String {
    const CHARS: usize = 60;
    match text.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{:?}… ({} bytes)", text.get(..at).unwrap_or_default(), text.len()),
        None => format!("{text:?}"),
    }
}
