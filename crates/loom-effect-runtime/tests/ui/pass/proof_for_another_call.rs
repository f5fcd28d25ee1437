use loom_effect_runtime::{CallError, Next, Opaque};

async fn apart<'a, 'b>(mut mine: Next<'a>, mut other: Next<'b>) -> Result<Opaque<'a>, CallError> {
    let _other = other.run().await?;
    mine.run().await
}

fn main() {
    let _ = apart;
}
