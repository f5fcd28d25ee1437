//! Looks at output as an inspector, which has to say whether it has a delta form.

use loom_effect_runtime::{Call, DeltaForm, Output, OutputMiddleware, Step};

struct Honest;

impl OutputMiddleware for Honest {
    fn name(&self) -> &str {
        "honest"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        None
    }
}

fn main() {}
