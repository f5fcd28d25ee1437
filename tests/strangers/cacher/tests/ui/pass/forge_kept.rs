//! Keeps what a run gave.

use loom_effect_runtime::{Kept, Next, Opaque};

fn honest<'a>(next: &Next<'a>, proof: &Opaque<'a>) -> Option<Kept> {
    next.keep(proof)
}

fn main() {
    let _ = honest;
}
