//! Rewrites input before the authorizer sees it.

use loom_effect_runtime::{Step, rewrite};

fn main() {
    let _ = rewrite("honest", |_call, input| {
        input.get_mut::<String>();
        Step::Go
    });
}
