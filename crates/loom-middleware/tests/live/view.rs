//! A sink that shows what it got.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta};

/// What a sink got: text as it is, `<n>` for a reset, `.` for done. Clones are the same view.
#[derive(Clone, Default)]
pub(crate) struct View(Arc<Mutex<String>>);

impl View {
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl DeltaSink for View {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let mut view = self.0.lock().unwrap();
        match delta {
            EffectDelta::Reset { attempt, .. } => view.push_str(&format!("<{attempt}>")),
            EffectDelta::Done { .. } => view.push('.'),
            delta => view.push_str(delta.text().unwrap_tainted()),
        }
    }
}
