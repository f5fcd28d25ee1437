//! A guard that severs at a word of the kit's own.

use loom_effect_runtime::{
    Call, CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Output, OutputMiddleware, Step, Verdict,
    Violation,
};

/// The word; nobody has a reason to refuse or to change it.
pub(crate) const MARKER: &str = "kitmarkerqzx";
/// The rule that severs at it.
pub(crate) const MARKER_RULE: &str = "loom_testing.marker";

/// An inspector that severs live text at [`MARKER`] and lets every output be.
pub(crate) struct Marker;

impl OutputMiddleware for Marker {
    fn name(&self) -> &str {
        "marker"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(self)
    }
}

impl DeltaForm for Marker {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Watch(String::new()))
    }
}

/// All text so far: it is the kit's own and short.
struct Watch(String);

impl DeltaGuard for Watch {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        self.0.push_str(text);
        match self.0.contains(MARKER) {
            true => Verdict::Sever(Violation::safety(MARKER_RULE)),
            false => Verdict::Pass,
        }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
