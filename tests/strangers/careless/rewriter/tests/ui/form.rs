use loom_effect_runtime::{Call, DeltaForm, Output, OutputMiddleware, Step};

struct Rewriter;

impl OutputMiddleware for Rewriter {
    fn name(&self) -> &str {
        "careless-rewriter"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        None
    }
}

fn main() {
    let _ = loom_effect_runtime::EffectRuntime::builder().output_middleware(Rewriter);
}
