use std::sync::Mutex;

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};

struct Cache(Mutex<Option<Opaque<'static>>>);

impl Around for Cache {
    fn name(&self) -> &str {
        "cache"
    }

    fn around<'a>(
        &'a self,
        _call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            let proof = next.run().await?;
            *self.0.lock().unwrap() = Some(proof);
            next.run().await
        })
    }
}

fn main() {
    drop(Cache(Mutex::new(None)));
}
