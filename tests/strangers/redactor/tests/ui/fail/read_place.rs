//! Reads the place behind an output.

use loom_effect_runtime::Output;

fn cheat(output: &Output) {
    let _ = &output.value;
}

fn main() {
    let _ = cheat;
}
