//! A sink that notes what it passes on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use loom_effect_runtime::{CallRef, DeltaKinds, DeltaSink, EffectDelta};

use crate::kit::counted;
use crate::kit::play::Seen;
use crate::kit::polls::POLL_MAX;

/// What passed.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// By the number of the call.
    pub(super) seen: HashMap<u64, Seen>,
    /// Deliveries that took longer than a poll may.
    pub(super) slow: usize,
    /// Deliveries of text that are not counted yet.
    before_counted: usize,
    /// Allocations of the deliveries of text that are counted, and how many those are.
    pub(super) counted: (u64, u64),
}

/// Passes everything on to the subject.
pub(super) struct Tee<S> {
    pub(super) subject: Arc<S>,
    notes: Arc<Mutex<Notes>>,
}

impl<S> Tee<S> {
    pub(super) fn new(subject: S) -> Self {
        Self { subject: Arc::new(subject), notes: Arc::default() }
    }

    /// Counts allocations from the delta after so many.
    #[cfg(feature = "allocations")]
    pub(super) fn counting_after(&self, deltas: usize) -> Self {
        self.notes().before_counted = deltas;
        self.clone()
    }

    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Clone for Tee<S> {
    fn clone(&self) -> Self {
        Self { subject: Arc::clone(&self.subject), notes: Arc::clone(&self.notes) }
    }
}

impl<S: DeltaSink> DeltaSink for Tee<S> {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        note(self.notes().seen.entry(call.number()).or_default(), delta);
        let began = Instant::now();
        let allocated = counted::allocations(|| self.subject.deliver(call, delta));
        let took = began.elapsed();
        let mut notes = self.notes();
        notes.slow += usize::from(took > POLL_MAX);
        if !matches!(delta, EffectDelta::Text { .. }) {
            return;
        }
        match notes.before_counted.checked_sub(1) {
            Some(left) => notes.before_counted = left,
            None => notes.counted = (notes.counted.0 + allocated, notes.counted.1 + 1),
        }
    }

    fn wants(&self) -> DeltaKinds {
        self.subject.wants()
    }
}

fn note(seen: &mut Seen, delta: &EffectDelta<'_>) {
    match delta {
        EffectDelta::Text { text, .. } => seen.text.push_str(text.unwrap_tainted()),
        EffectDelta::Reset { .. } => {
            seen.text.clear();
            seen.resets += 1;
        }
        EffectDelta::Done { .. } => seen.done += 1,
        _ => {}
    }
}
