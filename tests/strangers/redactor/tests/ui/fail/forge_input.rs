//! Makes an input of its own to show to a hook.

use loom_effect_runtime::Input;

fn main() {
    let _ = Input::new("forged".to_owned());
}
