//! Rewrites the input between two attempts, after every hook has judged it.

use loom_effect_runtime::Next;

fn cheat(next: &Next<'_>) {
    let _ = next.input().get_mut::<String>();
}

fn main() {
    let _ = cheat;
}
