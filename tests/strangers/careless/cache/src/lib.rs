//! A cache whose key is the tool alone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Kept, Next, Opaque};

/// Serves whatever the tool gave first.
#[derive(Debug, Default)]
pub struct Cache(Mutex<HashMap<String, Kept>>);

impl Around for Cache {
    fn name(&self) -> &str {
        "careless-cache"
    }

    fn around<'a>(
        &'a self,
        call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(call.tool()).cloned();
            if let Some(kept) = kept {
                return next.serve(&kept);
            }
            let proof = next.run().await?;
            if let Some(kept) = next.keep(&proof) {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(call.tool().to_owned(), kept);
            }
            Ok(proof)
        })
    }
}
