//! The lines of a transcript.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How many lines a [`Recorder`](crate::Recorder) keeps; what comes after is counted in a last line.
pub const TRANSCRIPT_LINES_MAX: usize = 10_000;

#[derive(Debug, Default)]
struct Lines {
    text: String,
    count: usize,
}

/// A transcript that many write to.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Arc<Mutex<Lines>>);

impl Record {
    pub(super) fn line(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.count += 1;
        if lines.count <= TRANSCRIPT_LINES_MAX {
            lines.text.push_str(line);
            lines.text.push('\n');
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.write_str(&lines.text)?;
        match lines.count.saturating_sub(TRANSCRIPT_LINES_MAX) {
            0 => Ok(()),
            more => writeln!(f, "({more} lines more)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_bound_are_counted() {
        let record = Record::default();
        (0..TRANSCRIPT_LINES_MAX).for_each(|_| record.line("a"));
        assert_eq!(record.to_string().lines().count(), TRANSCRIPT_LINES_MAX);
        record.line("b");
        record.line("c");
        assert!(record.to_string().ends_with("a\n(2 lines more)\n"));
    }
}
