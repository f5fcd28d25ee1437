//! Why a task ends before its work is done.

use std::fmt::{self, Display};

/// The ways to end early; `main` turns the first into exit code 2 and the others into 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The command line was wrong: what was expected and what came.
    Usage(String),
    /// The machine lacks what the task needs, a program or its packages; nothing that is there went wrong.
    Unavailable(String),
    /// The task could not do its work: what it was doing and what went wrong.
    Failed(String),
}

impl Stop {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

impl Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Unavailable(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

/// Names what was being done when a foreign error came.
pub(crate) trait During<T> {
    /// Turns the error into [`Stop::Failed`] as `doing: error`.
    fn during(self, doing: &str) -> Result<T, Stop>;
}

impl<T, E: Display> During<T> for Result<T, E> {
    fn during(self, doing: &str) -> Result<T, Stop> {
        self.map_err(|error| Stop::Failed(format!("{doing}: {error}")))
    }
}
