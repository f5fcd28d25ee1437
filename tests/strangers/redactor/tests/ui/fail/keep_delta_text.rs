//! Keeps a delta's borrowed text beyond its delivery.

use std::sync::Mutex;

use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta};

struct Cheat(Mutex<Vec<&'static str>>);

impl DeltaSink for Cheat {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        if let EffectDelta::Text { text, .. } = *delta {
            self.0.lock().unwrap().push(text.unwrap_tainted());
        }
    }
}

fn main() {}
