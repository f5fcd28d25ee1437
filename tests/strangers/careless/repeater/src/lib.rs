//! A guard that lets its text pass twice: through the outlet, and by its answer.

use loom_effect_runtime::{CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Verdict, Violation};

/// Means to pass everything on.
#[derive(Debug)]
pub struct Repeater;

impl DeltaForm for Repeater {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Self)
    }
}

impl DeltaGuard for Repeater {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        out.pass(text);
        Verdict::Pass
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
