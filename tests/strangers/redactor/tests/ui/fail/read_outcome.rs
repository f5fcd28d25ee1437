//! Reads the output from the outcome that a pass-through middleware hears of.

use loom_effect_runtime::after;

fn main() {
    let _ = after("cheat", |_call, outcome| drop(outcome.output));
}
