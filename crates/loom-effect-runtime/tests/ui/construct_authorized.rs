use loom_effect_runtime::{Authorized, Input};

fn forged(input: &Input) -> Authorized<'_> {
    Authorized(input)
}

fn main() {
    let _ = forged;
}
