use std::sync::Mutex;

use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta, OwnedDelta};

struct Mine(Mutex<Vec<OwnedDelta>>);

impl DeltaSink for Mine {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        self.0.lock().unwrap().push(delta.to_owned());
    }
}

fn main() {
    let _ = Mine(Mutex::default());
}
