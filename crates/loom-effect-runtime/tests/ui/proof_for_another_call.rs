use loom_effect_runtime::{CallError, Next, Opaque};

async fn mixed<'a, 'b>(mut mine: Next<'a>, mut other: Next<'b>) -> Result<Opaque<'a>, CallError> {
    let _mine = mine.run().await?;
    other.run().await
}

fn main() {
    let _ = mixed;
}
