//! Makes a way past the guards behind it.

use loom_effect_runtime::Outlet;

fn cheat(out: Outlet<'_>) -> Outlet<'_> {
    Outlet { ..out }
}

fn main() {
    let _ = cheat;
}
