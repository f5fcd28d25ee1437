//! Runs two attempts of one call, one after the other.

use loom_effect_runtime::Next;

fn honest(next: &mut Next<'_>) {
    let first = next.run();
    drop(first);
    let second = next.run();
    drop(second);
}

fn main() {
    let _ = honest;
}
