//! A guard that cuts text between bytes, and so panics at the first character that has more than one.

use loom_effect_runtime::{CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Verdict, Violation};

/// Looks at the first ten bytes of each piece.
#[derive(Debug)]
pub struct Slicer;

impl DeltaForm for Slicer {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Self)
    }
}

impl DeltaGuard for Slicer {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        let head = &text[..text.len().min(10)];
        if head.contains("swordfish") {
            Verdict::Sever(Violation::safety("swordfish"))
        } else {
            Verdict::Pass
        }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
