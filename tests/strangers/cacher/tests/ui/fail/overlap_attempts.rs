//! Races two attempts of one call.

use loom_effect_runtime::Next;

fn cheat(next: &mut Next<'_>) {
    let first = next.run();
    let second = next.run();
    drop((first, second));
}

fn main() {
    let _ = cheat;
}
