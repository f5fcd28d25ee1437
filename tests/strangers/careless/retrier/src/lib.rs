//! A retry that knows no refusal.

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};

/// Tries five times, whatever the answer was.
#[derive(Debug)]
pub struct Stubborn;

impl Around for Stubborn {
    fn name(&self) -> &str {
        "careless-retrier"
    }

    fn around<'a>(
        &'a self,
        _call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            for _ in 0..4 {
                if let Ok(proof) = next.run().await {
                    return Ok(proof);
                }
            }
            next.run().await
        })
    }
}
