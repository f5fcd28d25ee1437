//! Reads an output that it was handed to inspect.

use loom_effect_runtime::Output;

fn honest(output: &Output) -> Option<&String> {
    output.get::<String>()
}

fn main() {
    let _ = honest;
}
