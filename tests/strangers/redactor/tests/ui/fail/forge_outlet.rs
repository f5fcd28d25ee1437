//! Makes a way past the guards behind it.

use loom_effect_runtime::Outlet;

fn cheat<'a>(out: &'a mut Outlet<'_>) -> Outlet<'a> {
    Outlet { rest: &mut [], ..*out }
}

fn main() {
    let _ = cheat;
}
