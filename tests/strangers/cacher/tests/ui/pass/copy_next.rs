//! Hands the rest of the call on.

use loom_effect_runtime::Next;

fn honest(next: Next<'_>) -> Next<'_> {
    next
}

fn main() {
    let _ = honest;
}
