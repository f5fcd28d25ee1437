//! Looks at output from a pass-through middleware.

use loom_effect_runtime::{Call, Middleware, Output, Step};

struct Cheat;

impl Middleware for Cheat {
    fn name(&self) -> &str {
        "cheat"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }
}

fn main() {}
