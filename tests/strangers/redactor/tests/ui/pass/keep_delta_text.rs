//! Keeps a copy of a delta, tainted as it was.

use std::sync::Mutex;

use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta, OwnedDelta};

struct Honest(Mutex<Vec<OwnedDelta>>);

impl DeltaSink for Honest {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        self.0.lock().unwrap().push(delta.to_owned());
    }
}

fn main() {}
