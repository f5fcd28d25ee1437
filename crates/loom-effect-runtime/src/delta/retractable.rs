//! A sink that can take back what a failed call showed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loom_classify::{Origins, TaintedStr};

use super::{DeltaKinds, DeltaSink, EffectDelta};
use crate::call::{CallRef, CallTag};
use crate::caught::caught;

/// Passes deliveries on to another sink, and resets it where a call failed and the next one follows: for code that
/// tries one call after the other under one live view, such as a fallback.
///
/// A call that fails leaves in a view what it had delivered, since nothing terminal is sent (spec row D6). Whoever goes
/// on with another call takes that back first, so that the view holds the text of the call that answered alone
/// (spec row D11 over several calls).
///
/// # Contract
/// It follows one call at a time: a delivery of the next call lets go of the one before. Retract once the call is over
/// and before the next one begins.
///
/// # Panics
/// A panic of the inner sink goes to the runtime, which catches and reports it; one while retracting is caught here and
/// not reported again.
pub struct RetractableSink {
    inner: Arc<dyn DeltaSink>,
    /// Never held while the inner sink runs, which may be foreign code.
    shown: Mutex<Option<Shown>>,
}

/// The attempt whose deltas the inner sink has, with nothing behind them that ends them.
struct Shown {
    tag: CallTag,
    origins: Origins,
}

impl RetractableSink {
    /// Passes on to `inner`, and asks for the kinds that it asks for.
    #[must_use]
    pub fn new(inner: Arc<dyn DeltaSink>) -> Self {
        Self { inner, shown: Mutex::new(None) }
    }

    /// Takes back what the last call delivered: one reset, under that call's own reference and the attempt after its
    /// last. Does nothing where it delivered nothing, was reset since, or sent done. Whether a reset was delivered.
    ///
    /// A reader that folds per call and one that folds over all calls both have nothing of that call then.
    pub fn retract(&self) -> bool {
        let Some(Shown { mut tag, origins }) = self.shown().take() else { return false };
        tag.attempt = tag.attempt.saturating_add(1);
        let delta = EffectDelta::Reset { attempt: tag.attempt, text: TaintedStr::new("", &origins) };
        let _ = caught(|| self.inner.deliver(&CallRef(&tag), &delta));
        true
    }

    fn shown(&self) -> MutexGuard<'_, Option<Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeltaSink for RetractableSink {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let mut shown = self.shown();
        if matches!(delta, EffectDelta::Reset { .. } | EffectDelta::Done { .. }) {
            *shown = None;
        } else if shown.as_ref().is_none_or(|shown| shown.tag.number != call.number()) {
            *shown = Some(Shown { tag: call.0.clone(), origins: delta.text().origins().clone() });
        }
        drop(shown);
        self.inner.deliver(call, delta);
    }

    fn wants(&self) -> DeltaKinds {
        self.inner.wants()
    }
}

impl std::fmt::Debug for RetractableSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RetractableSink").field("shown", &self.shown().is_some()).finish_non_exhaustive()
    }
}
