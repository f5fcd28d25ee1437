//! Makes a kept output of its own value.

use std::sync::Arc;

use loom_effect_runtime::Kept;

fn main() {
    let _ = Kept(Arc::new("forged"));
}
