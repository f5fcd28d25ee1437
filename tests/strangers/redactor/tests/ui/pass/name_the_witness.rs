//! Is the authorizer.

use loom_effect_runtime::{Step, authorize};

fn main() {
    let _ = authorize(|_call, _input| Step::Go);
}
