use loom_effect_runtime::{Authorizer, Call, Input, Step};

struct Allows;

impl Authorizer for Allows {
    fn authorize(&self, _call: &Call, _input: &Input) -> Step {
        Step::Go
    }
}

fn main() {
    let _ = Allows;
}
