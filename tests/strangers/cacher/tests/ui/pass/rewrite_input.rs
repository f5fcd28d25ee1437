//! Reads the input to make a key of it.

use loom_effect_runtime::{Call, MemoKey, Next};

fn honest(call: &Call, next: &Next<'_>) -> Option<MemoKey> {
    call.memo_key(next.input()).ok()
}

fn main() {
    let _ = honest;
}
