//! A guard whose text outlives the attempt: it lies in the form.

use std::sync::{Arc, Mutex, PoisonError};

use loom_effect_runtime::{CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Verdict, Violation};

/// Severs when the text holds `swordfish`, over all that any of its guards has ever seen.
#[derive(Clone, Debug, Default)]
pub struct Remembers(Arc<Mutex<String>>);

impl DeltaForm for Remembers {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(self.clone())
    }
}

impl DeltaGuard for Remembers {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push_str(text);
        if seen.contains("swordfish") {
            Verdict::Sever(Violation::safety("swordfish"))
        } else {
            Verdict::Pass
        }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
