use loom_effect_runtime::{CallError, Next, Opaque};

async fn earned<'a>(mut next: Next<'a>) -> Result<Opaque<'a>, CallError> {
    next.run().await
}

fn main() {
    let _ = earned;
}
