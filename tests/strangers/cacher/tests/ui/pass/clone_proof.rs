//! Copies what was kept behind a proof.

use loom_effect_runtime::Kept;

fn honest(kept: &Kept) -> Kept {
    kept.clone()
}

fn main() {
    let _ = honest;
}
