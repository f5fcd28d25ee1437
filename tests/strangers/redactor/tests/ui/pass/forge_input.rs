//! Reads the input it is shown.

use loom_effect_runtime::Input;

fn honest(input: &Input) -> Option<&String> {
    input.get::<String>()
}

fn main() {
    let _ = honest;
}
