use futures::future::BoxFuture;
use loom_effect_runtime::Kept;
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};
use std::sync::Mutex;

struct Mine(Mutex<Option<Kept>>);

impl Around for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    fn around<'a>(
        &'a self,
        _call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            let proof = next.run().await?;
            *self.0.lock().unwrap() = next.keep(&proof);
            Ok(proof)
        })
    }
}

fn main() {
    let _ = Mine(Mutex::new(None));
}
