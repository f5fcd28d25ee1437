//! How long each tool's runs have, and what they fail with.

use std::collections::BTreeMap;
use std::time::Duration;

use loom_effect_runtime::{CallError, ErrorName, RetryAdvice};

use crate::timed::GivenUp;

/// The limit of all tools, and the tools that have another; `None` is no limit.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    all: Duration,
    tools: BTreeMap<Box<str>, Option<Duration>>,
}

impl Limits {
    pub(super) fn of_all(limit: Duration) -> Self {
        Self { all: limit, tools: BTreeMap::new() }
    }

    pub(super) fn set(&mut self, tool: Box<str>, limit: Option<Duration>) {
        self.tools.insert(tool, limit);
    }

    pub(super) fn of(&self, tool: &str) -> Option<Duration> {
        self.tools.get(tool).copied().unwrap_or(Some(self.all))
    }
}

/// The failure of a run that was given up.
#[cold]
pub(super) fn gave_up(why: GivenUp, limit: Option<Duration>) -> CallError {
    let limit = limit.unwrap_or_default();
    match why {
        GivenUp::Late => {
            CallError::named(ErrorName::DeadlineExceeded, format!("timeout: not done within {limit:?}"))
        }
        GivenUp::NoTimer => {
            let message = format!("timeout: no timer to keep the limit of {limit:?}");
            CallError::named(ErrorName::DeadlineExceeded, message).with_advice(RetryAdvice::Never)
        }
    }
}
