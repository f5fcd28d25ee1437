//! Rewrites output, and brings a delta form that lets everything pass.

use loom_effect_runtime::{
    Call, CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Output, OutputMiddleware, Step, Verdict,
    Violation,
};

/// Puts `[…]` in the place of `swordfish`, and claims that it does so in live text too.
#[derive(Debug)]
pub struct Rewriter;

impl OutputMiddleware for Rewriter {
    fn name(&self) -> &str {
        "careless-noop-form"
    }

    fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
        if let Some(text) = output.get_mut::<String>() {
            *text = text.replace("swordfish", "[…]");
        }
        Step::Go
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(self)
    }
}

impl DeltaForm for Rewriter {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Blind)
    }
}

struct Blind;

impl DeltaGuard for Blind {
    fn push(&mut self, _text: &str, _out: &mut Outlet<'_>) -> Verdict {
        Verdict::Pass
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
