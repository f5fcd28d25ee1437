//! Rewrites input in `before`, after the authorizer has judged it.

use loom_effect_runtime::{Step, before};

fn main() {
    let _ = before("cheat", |_call, input| {
        input.get_mut::<String>();
        Step::Go
    });
}
