//! What became of a call.

use crate::delta::Usage;
use crate::error::CallError;

/// Facts about a finished call, beside its result: `.reported().await` gives both.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallReport {
    /// How often the effect was executed; 0 when the call was refused before it or served from a memo.
    pub attempts: u32,
    /// Whether the successful attempt streamed to a sink: then the fold of what a sink got is the output's live
    /// text (spec row D11).
    pub streamed: bool,
    /// Whether the live text was compared with the output; false where the effect states no `live_text`.
    pub checked: bool,
    /// What providers reported, summed over attempts; `None` when nothing was reported, never zero for unknown.
    pub usage: Option<Usage>,
}

/// The outcome as [`Middleware::after`](crate::Middleware::after) sees it: facts, no content.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The failure, if the call failed.
    pub error: Option<&'a CallError>,
    /// The facts of the call.
    pub report: &'a CallReport,
}

impl Outcome<'_> {
    /// Whether the call succeeded.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.error.is_none()
    }
}
