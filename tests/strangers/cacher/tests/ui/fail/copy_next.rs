//! Copies the rest of the call, to run it on two tasks.

use loom_effect_runtime::Next;

fn cheat<'a>(next: Next<'a>) -> (Next<'a>, Next<'a>) {
    (next.clone(), next)
}

fn main() {
    let _ = cheat;
}
