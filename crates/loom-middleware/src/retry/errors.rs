//! Policies for failures of one name, and how often attempts of one call failed under each.

use std::time::Duration;

use loom_effect_runtime::ErrorName;

use super::policy::{ATTEMPTS_MAX, Backoff};

/// How failures of one name are tried again: what [`Retry::on`](super::Retry::on) takes.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ErrorPolicy {
    pub(super) attempts: u32,
    pub(super) backoff: Option<Backoff>,
}

impl ErrorPolicy {
    /// The call ends with the failure of that name which is number `attempts`: from 1 (no retry) to [`ATTEMPTS_MAX`];
    /// other figures are brought into that range.
    pub fn attempts(attempts: u32) -> Self {
        Self { attempts: attempts.clamp(1, ATTEMPTS_MAX), backoff: None }
    }

    /// The first failure of that name ends the call, whatever it advises and [`Retry::when`](super::Retry::when) says.
    pub fn never() -> Self {
        Self::attempts(1)
    }

    /// Pauses of its own in place of those of [`Retry::backoff`](super::Retry::backoff).
    pub fn backoff(mut self, first: Duration, cap: Duration) -> Self {
        self.backoff = Some(Backoff { first, cap });
        self
    }
}

/// The policies by name: one a name, so never more than there are names.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorPolicies(Vec<(ErrorName, ErrorPolicy)>);

impl ErrorPolicies {
    /// The last policy of a name stands.
    pub(super) fn set(&mut self, name: ErrorName, policy: ErrorPolicy) {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, policy));
    }

    pub(super) fn of(&self, name: ErrorName) -> Option<&ErrorPolicy> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, policy)| policy)
    }
}

/// How often the attempts of one call have failed. Allocates nothing before a name with a policy of its own fails.
#[derive(Debug, Default)]
pub(super) struct Failures {
    all: u32,
    named: Vec<(ErrorName, u32)>,
    others: u32,
}

impl Failures {
    /// Counts one more: a name with a policy for itself, all others together. Gives the count it adds to.
    pub(super) fn count(&mut self, name: ErrorName, has_policy: bool) -> u32 {
        self.all += 1;
        if !has_policy {
            self.others += 1;
            return self.others;
        }
        match self.named.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.named.push((name, 1));
                1
            }
        }
    }

    /// All failures of the call, whatever their names.
    pub(super) fn all(&self) -> u32 {
        self.all
    }
}
