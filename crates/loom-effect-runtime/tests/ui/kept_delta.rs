use std::sync::Mutex;

use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta};

struct Mine(Mutex<Vec<&'static str>>);

impl DeltaSink for Mine {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        self.0.lock().unwrap().push(delta.text().unwrap_tainted());
    }
}

fn main() {
    let _ = Mine(Mutex::default());
}
