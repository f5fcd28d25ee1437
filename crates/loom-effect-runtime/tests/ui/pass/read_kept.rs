use loom_effect_runtime::{CallError, Kept, Next, Opaque};

fn serve<'a>(next: &mut Next<'a>, kept: &Kept) -> Result<Opaque<'a>, CallError> {
    next.serve(kept)
}

fn main() {
    let _ = serve;
}
