//! Retry: a failed attempt is tried again after a pause.

mod errors;
mod jitter;
mod policy;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, ErrorName, Next, Opaque};

pub use errors::ErrorPolicy;
use errors::{ErrorPolicies, Failures};
use jitter::Seeds;
pub use policy::{
    ATTEMPTS_DEFAULT, ATTEMPTS_MAX, DELAY_CAP_DEFAULT, DELAY_FIRST_DEFAULT, RETRY_AFTER_MAX_DEFAULT,
};
use policy::{Backoff, asked};
pub(crate) use policy::{Decides, is_passing};

/// Tries failed attempts again: by default 3 attempts, 250 ms between the first two, doubled each time, at most 8 s,
/// with full jitter (each pause is drawn evenly from nothing up to that figure).
///
/// # What is retried
/// What the failure itself advises ([`CallError::retry_advice`]): never, or again, or again but not before a delay.
/// A failure that advises nothing is retried by its name, where it may pass by itself: `EffectFailedError`,
/// `ProviderError` and `DeadlineExceededError` (a timeout registered after the retry ends one attempt). Not an
/// `EffectPanickedError`, which is a fault in code, nor an output or input that does not fit. [`Retry::on`] says for
/// one name how often, and counts it apart from the others. [`Retry::when`] decides otherwise, except that a refusal, a
/// sever or an abort is never retried (spec row T11), and an effect that is not repeatable is not run again once a
/// delta of it was delivered: then the call fails with the failure of the attempt that ran, not with
/// `NotRepeatableError`.
///
/// # Delays that a failure asks for
/// [`RetryAdvice::After`](loom_effect_runtime::RetryAdvice::After) is a least: the pause is that delay plus the
/// jittered one, so that callers who were told the same do not return together. One longer than
/// [`Retry::patience`] is not waited for: the failure is given back at once, with its advice.
///
/// # Contract
/// Each further attempt begins with a reset to every sink (spec row D11). The pause runs on the runtime's clock;
/// where that has no timer nothing is retried, since a retry without a pause is a busy loop. An abort ends the pause.
///
/// # Panics
/// Never by itself; a panic in the closure given to [`Retry::when`] refuses the call.
#[derive(Clone)]
#[must_use]
pub struct Retry {
    attempts: u32,
    backoff: Backoff,
    patience: Duration,
    seeds: Seeds,
    policies: ErrorPolicies,
    when: Option<Arc<Decides>>,
}

impl Retry {
    /// The default policy, with jitter that differs from process to process and call to call.
    pub fn new() -> Self {
        Self {
            attempts: ATTEMPTS_DEFAULT,
            backoff: Backoff::default(),
            patience: RETRY_AFTER_MAX_DEFAULT,
            seeds: Seeds::of_process(),
            policies: ErrorPolicies::default(),
            when: None,
        }
    }

    /// How often the effect may run in one call, the first time included: from 1 (no retry) to [`ATTEMPTS_MAX`];
    /// other figures are brought into that range. Failures of a name that has a policy ([`Retry::on`]) are not counted.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.clamp(1, ATTEMPTS_MAX);
        self
    }

    /// The longest pause after the first attempt, and the longest of all. The pause doubles from one to the other.
    pub fn backoff(mut self, first: Duration, cap: Duration) -> Self {
        self.backoff = Backoff { first, cap };
        self
    }

    /// The longest delay asked for by a failure that is waited for; [`RETRY_AFTER_MAX_DEFAULT`] unless it is set. It
    /// also holds where [`Retry::when`] decides.
    pub fn patience(mut self, longest: Duration) -> Self {
        self.patience = longest;
        self
    }

    /// Makes the jitter a function of `seed`, the call's facts and the attempt, so that a run can be repeated.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seeds = Seeds::given(seed);
        self
    }

    /// Decides which failures are tried again, in place of the default and of what a failure advises; a delay that it
    /// asks for is kept all the same, and [`Retry::on`] still says how often. Never asked about what may not be
    /// retried.
    pub fn when(mut self, retries: impl Fn(&CallError) -> bool + Send + Sync + 'static) -> Self {
        self.when = Some(Arc::new(retries));
        self
    }

    /// Gives failures of one name a policy of their own; a second one for a name replaces the first.
    ///
    /// Such a failure is tried again also where its name alone would not be, unless it advises never. Each name with a
    /// policy has its own count of failures and the others share [`Retry::attempts`], but one call never runs the
    /// effect more than [`ATTEMPTS_MAX`] times. Pauses double with every failure of the call, whatever its name. On a
    /// refusal's name a policy changes nothing: a refusal is never retried (spec row T11).
    pub fn on(mut self, name: ErrorName, policy: ErrorPolicy) -> Self {
        self.policies.set(name, policy);
        self
    }

    /// Whether the failure is worth another attempt, however many there were.
    fn retries(&self, error: &CallError) -> bool {
        if error.is_refusal() || error.name() == ErrorName::NotRepeatable {
            return false;
        }
        match &self.when {
            Some(when) => when(error),
            None if error.retry_advice().is_none() && self.policies.of(error.name()).is_some() => true,
            None => is_passing(error),
        }
    }

    /// Counts the failure; whether that leaves another attempt.
    fn has_another(&self, error: &CallError, failures: &mut Failures) -> bool {
        let policy = self.policies.of(error.name());
        let failed = failures.count(error.name(), policy.is_some());
        failed < policy.map_or(self.attempts, |policy| policy.attempts) && failures.all() < ATTEMPTS_MAX
    }

    /// How long to wait after the attempt `failed` (from 1), never less than the failure asks for. `None` where that is
    /// longer than the patience.
    fn pause(&self, error: &CallError, failed: u32, draw: u64) -> Option<Duration> {
        let own = self.policies.of(error.name()).and_then(|policy| policy.backoff);
        Some(asked(error, self.patience)?.saturating_add(own.unwrap_or(self.backoff).delay(failed, draw)))
    }

    async fn run<'a>(&self, call: &Call, mut next: Next<'a>) -> Result<Opaque<'a>, CallError> {
        match next.run().await {
            Ok(proof) => Ok(proof),
            // Boxed, so that a call whose first attempt succeeds carries no room for this.
            Err(failure) => Box::pin(self.again(call, next, failure)).await,
        }
    }

    /// What follows a first failure.
    async fn again<'a>(
        &self,
        call: &Call,
        mut next: Next<'a>,
        mut failure: CallError,
    ) -> Result<Opaque<'a>, CallError> {
        let (mut failures, mut jitter) = (Failures::default(), None);
        loop {
            // Asked before the pause: waiting for a run that is not possible would be in vain.
            if !self.has_another(&failure, &mut failures)
                || !self.retries(&failure)
                || next.may_run().is_err()
            {
                return Err(failure);
            }
            let jitter = jitter.get_or_insert_with(|| self.seeds.of(call));
            let pause =
                self.pause(&failure, failures.all(), jitter.draw()).and_then(|pause| call.sleep(pause));
            let Some(pause) = pause else {
                return Err(failure);
            };
            pause.await;
            failure = match next.run().await {
                Ok(proof) => return Ok(proof),
                // Nothing ran: what the caller should hear of is the attempt that did.
                Err(error) if error.name() == ErrorName::NotRepeatable => return Err(failure),
                Err(error) => error,
            };
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

impl Around for Retry {
    fn name(&self) -> &str {
        "retry"
    }

    fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(self.run(call, next))
    }
}

impl std::fmt::Debug for Retry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retry")
            .field("attempts", &self.attempts)
            .field("backoff", &self.backoff)
            .field("patience", &self.patience)
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}
