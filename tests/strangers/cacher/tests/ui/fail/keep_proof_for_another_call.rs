//! Keeps a proof in the around itself, to return it for another call.

use std::sync::Mutex;

use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};

type Boxed<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Opaque<'a>, CallError>> + Send + 'a>>;

struct Cheat(Mutex<Option<Opaque<'static>>>);

impl Around for Cheat {
    fn name(&self) -> &str {
        "cheat"
    }

    fn around<'a>(&'a self, _call: &'a Call, mut next: Next<'a>) -> Boxed<'a> {
        Box::pin(async move {
            let proof = next.run().await?;
            *self.0.lock().unwrap() = Some(proof);
            next.run().await
        })
    }
}

fn main() {}
