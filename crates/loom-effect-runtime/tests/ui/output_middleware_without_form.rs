use loom_effect_runtime::{Call, Output, OutputMiddleware, Step};

struct Mine;

impl OutputMiddleware for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }
}

fn main() {
    let _ = Mine;
}
