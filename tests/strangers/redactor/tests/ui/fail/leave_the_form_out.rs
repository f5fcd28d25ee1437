//! Inspects output and does not say whether it has a delta form.

use loom_effect_runtime::{Call, Output, OutputMiddleware, Step};

struct Cheat;

impl OutputMiddleware for Cheat {
    fn name(&self) -> &str {
        "cheat"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }
}

fn main() {}
