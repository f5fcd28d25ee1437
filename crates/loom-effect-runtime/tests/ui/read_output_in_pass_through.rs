use loom_effect_runtime::{Call, Middleware, Outcome};

struct Mine;

impl Middleware for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    fn after(&self, _call: &Call, outcome: &Outcome<'_>) {
        let _ = outcome.output;
    }
}

fn main() {
    let _ = Mine;
}
