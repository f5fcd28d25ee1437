//! Reads a kept output.

use loom_effect_runtime::Kept;

fn cheat(kept: &Kept) {
    let _ = &kept.0;
}

fn main() {
    let _ = cheat;
}
