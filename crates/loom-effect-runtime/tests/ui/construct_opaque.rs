use std::marker::PhantomData;

use loom_effect_runtime::Opaque;

fn forged<'a>() -> Opaque<'a> {
    Opaque { room: 1, brand: PhantomData }
}

fn main() {
    let _ = forged;
}
