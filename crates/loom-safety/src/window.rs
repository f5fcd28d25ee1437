//! The windowed delta form, for validators that are a function of some text.
//!
//! The shipped validators do not use it: a window forgets, so a match wider than it passes, and a window's cut can
//! make a match that the text does not have. Both are stated limits of this form.

use std::fmt;
use std::sync::Arc;

use loom_effect_runtime::Violation;

use crate::delta::{DeltaCheck, DeltaJudge, violation};
use crate::rule::Finding;

/// How much of the running text a [`delta_window`] check sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaWindow {
    chars: usize,
}

impl DeltaWindow {
    /// Largest window; a larger one is cut to it.
    pub const CHARS_MAX: usize = 1 << 20;

    /// 4096 characters.
    pub const DEFAULT: Self = Self::chars(4096);

    /// A window of the last `chars` Unicode code points, clamped to 1..=[`Self::CHARS_MAX`].
    #[must_use]
    pub const fn chars(chars: usize) -> Self {
        Self {
            chars: match chars {
                0 => 1,
                Self::CHARS_MAX.. => Self::CHARS_MAX,
                chars => chars,
            },
        }
    }

    /// The window's size in Unicode code points.
    #[must_use]
    pub const fn size_chars(self) -> usize {
        self.chars
    }

    /// How many new characters are judged at once: half the window, so that any match of up to half the window is
    /// seen whole, even inside one huge delta.
    const fn step_chars(self) -> usize {
        self.chars.div_ceil(2)
    }
}

impl Default for DeltaWindow {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A delta form that asks `check` about the last characters of the running text at each delta.
///
/// A delta longer than half the window is judged in steps of that length, so no character goes unseen. The check
/// costs O(window) per delta; its findings' ranges are bytes of the window it was given.
///
/// ```
/// use loom_safety::{DeltaCheck, DeltaWindow, Finding, RuleId, delta_window};
///
/// let shout = delta_window(DeltaWindow::DEFAULT, |window: &str| match window.find("!!!") {
///     Some(at) => Err(Finding::new(RuleId::new("shout"), at..at + 3)),
///     None => Ok(()),
/// });
/// let mut judge = shout.judge();
/// assert!(judge.push("stop!!").is_ok());
/// assert!(judge.push("!").is_err());
/// ```
pub fn delta_window<F>(window: DeltaWindow, check: F) -> WindowCheck<F>
where
    F: Fn(&str) -> Result<(), Finding> + Send + Sync + 'static,
{
    WindowCheck { window, check: Arc::new(check) }
}

/// What [`delta_window`] makes.
pub struct WindowCheck<F> {
    window: DeltaWindow,
    check: Arc<F>,
}

impl<F> fmt::Debug for WindowCheck<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowCheck").field("window", &self.window).finish_non_exhaustive()
    }
}

impl<F: Fn(&str) -> Result<(), Finding> + Send + Sync + 'static> DeltaCheck for WindowCheck<F> {
    fn judge(&self) -> Box<dyn DeltaJudge> {
        Box::new(WindowJudge { check: Arc::clone(&self.check), rolling: RollingWindow::new(self.window) })
    }
}

struct WindowJudge<F> {
    check: Arc<F>,
    rolling: RollingWindow,
}

impl<F: Fn(&str) -> Result<(), Finding> + Send + Sync> DeltaJudge for WindowJudge<F> {
    fn push(&mut self, delta: &str) -> Result<(), Violation> {
        let mut rest = delta;
        while !rest.is_empty() {
            let cut =
                rest.char_indices().nth(self.rolling.window.step_chars()).map_or(rest.len(), |(at, _)| at);
            let (step, after) = rest.split_at(cut);
            self.rolling.push(step);
            let text = self.rolling.text.as_str();
            (self.check)(text).map_err(|finding| violation(finding, text, self.rolling.dropped_chars))?;
            rest = after;
        }
        Ok(())
    }
}

/// The last characters of a text that grows, cut on character boundaries.
struct RollingWindow {
    window: DeltaWindow,
    text: String,
    held_chars: usize,
    dropped_chars: u64,
}

impl RollingWindow {
    const fn new(window: DeltaWindow) -> Self {
        Self { window, text: String::new(), held_chars: 0, dropped_chars: 0 }
    }

    fn push(&mut self, step: &str) {
        self.text.push_str(step);
        self.held_chars += step.chars().count();
        let excess = self.held_chars.saturating_sub(self.window.chars);
        let cut = self.text.char_indices().nth(excess).map_or(self.text.len(), |(at, _)| at);
        self.text.drain(..cut);
        self.held_chars -= excess;
        self.dropped_chars += excess as u64;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rule::RuleId;

    fn at_needle(needle: &'static str) -> impl Fn(&str) -> Result<(), Finding> {
        move |text| match text.find(needle) {
            Some(at) => Err(Finding::new(RuleId::new("needle"), at..at + needle.len())),
            None => Ok(()),
        }
    }

    #[test]
    fn a_window_counts_code_points_and_cuts_between_characters() {
        let mut rolling = RollingWindow::new(DeltaWindow::chars(3));
        rolling.push("é🙂");
        rolling.push("日本");
        assert_eq!((rolling.text.as_str(), rolling.dropped_chars), ("🙂日本", 1));
    }

    #[test]
    fn the_window_is_clamped_and_defaults_to_4096_characters() {
        assert_eq!(DeltaWindow::DEFAULT.size_chars(), 4096);
        assert_eq!(DeltaWindow::chars(0).size_chars(), 1);
        assert_eq!(DeltaWindow::chars(usize::MAX).size_chars(), DeltaWindow::CHARS_MAX);
    }

    #[test]
    fn a_finding_is_placed_in_the_whole_text() {
        let check = delta_window(DeltaWindow::chars(8), at_needle("bad"));
        let mut judge = check.judge();
        judge.push(&"é".repeat(100)).unwrap();
        assert_eq!(judge.push("bad"), Err(Violation::safety("needle").at(100, 3)));
    }

    /// D23: a windowed check does not see a match wider than its window; the judges of the shipped validators have
    /// none.
    #[test]
    fn a_match_wider_than_the_window_passes() {
        let mut judge = delta_window(DeltaWindow::chars(4), at_needle("abcdef")).judge();
        assert!("abcdef".chars().all(|char| judge.push(&char.to_string()).is_ok()));
    }

    proptest! {
        #[test]
        fn a_match_of_half_the_window_is_seen_however_the_text_is_cut(
            before in "[a-z🙂é]{0,40}", after in "[a-z🙂é]{0,40}", cuts in prop::collection::vec(1..30_usize, 1..20),
        ) {
            let check = delta_window(DeltaWindow::chars(8), |text: &str| {
                assert!(text.chars().count() <= 8, "the window is a bound");
                at_needle("NÉXT")(text)
            });
            let mut judge = check.judge();
            let text: Vec<char> = format!("{before}NÉXT{after}").chars().collect();
            let (mut at, mut severed) = (0, None);
            for cut in cuts.into_iter().chain([text.len()]) {
                let end = (at + cut).min(text.len());
                let delta: String = text[at..end].iter().collect();
                severed = judge.push(&delta).err();
                at = end;
                if severed.is_some() { break; }
            }
            prop_assert_eq!(severed, Some(Violation::safety("needle").at(before.chars().count() as u64, 4)));
        }
    }
}
