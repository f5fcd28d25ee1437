//! Rewrites output without a form for live text.
//!
//! Leaving the form out does not compile. Saying `None` does: then the runtime shows nobody the stream.

use loom_effect_runtime::{Call, DeltaForm, Output, OutputMiddleware, Step};

/// Puts `[…]` in the place of `swordfish`, in the output alone.
#[derive(Debug)]
pub struct Rewriter;

impl OutputMiddleware for Rewriter {
    fn name(&self) -> &str {
        "careless-rewriter"
    }

    fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
        if let Some(text) = output.get_mut::<String>() {
            *text = text.replace("swordfish", "[…]");
        }
        Step::Go
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        None
    }
}
