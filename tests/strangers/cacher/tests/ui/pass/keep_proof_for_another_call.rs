//! Keeps an output in the around itself, to serve it in another call.

use std::sync::Mutex;

use loom_effect_runtime::{Around, Call, CallError, Kept, Next, Opaque};

type Boxed<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Opaque<'a>, CallError>> + Send + 'a>>;

struct Honest(Mutex<Option<Kept>>);

impl Around for Honest {
    fn name(&self) -> &str {
        "honest"
    }

    fn around<'a>(&'a self, _call: &'a Call, mut next: Next<'a>) -> Boxed<'a> {
        Box::pin(async move {
            let proof = next.run().await?;
            *self.0.lock().unwrap() = next.keep(&proof);
            Ok(proof)
        })
    }
}

fn main() {}
