//! Makes the proof that the authorizer let a call through.

use loom_effect_runtime::Input;

fn cheat(input: &Input) {
    let _ = loom_effect_runtime::Authorized(input);
}

fn main() {
    let _ = cheat;
}
