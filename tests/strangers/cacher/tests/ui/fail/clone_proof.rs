//! Copies a proof to spend it twice.

use loom_effect_runtime::Opaque;

fn cheat<'a>(proof: Opaque<'a>) -> (Opaque<'a>, Opaque<'a>) {
    (proof.clone(), proof)
}

fn main() {
    let _ = cheat;
}
