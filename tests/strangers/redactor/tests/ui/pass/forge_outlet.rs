//! Passes text on to the guards behind it.

use loom_effect_runtime::Outlet;

fn honest(out: &mut Outlet<'_>) {
    out.pass("text");
}

fn main() {
    let _ = honest;
}
