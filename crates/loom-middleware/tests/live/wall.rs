//! A guard that severs.

use loom_effect_runtime::{CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Verdict, Violation};

/// Severs at a delta that begins so.
#[derive(Clone, Copy)]
pub(crate) struct Wall(pub(crate) &'static str);

impl DeltaForm for Wall {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(*self)
    }
}

impl DeltaGuard for Wall {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        if text.starts_with(self.0) { Verdict::Sever(Violation::safety("wall")) } else { Verdict::Pass }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
