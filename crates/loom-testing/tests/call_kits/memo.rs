//! A memo by whatever key its maker thought of.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Input, Kept, Next, Opaque};

type Key<K> = fn(&Call, &Input) -> K;

/// Serves what it kept under an equal key; equal calls at once share one run. The slot's lock is given back however a
/// call ends.
pub(crate) struct Memo<K> {
    key: Key<K>,
    slots: Mutex<HashMap<K, Arc<tokio::sync::Mutex<Option<Kept>>>>>,
}

impl<K: Eq + Hash> Memo<K> {
    pub(crate) fn by(key: Key<K>) -> Self {
        Self { key, slots: Mutex::default() }
    }
}

impl<K: Eq + Hash + Send + 'static> Around for Memo<K> {
    fn name(&self) -> &str {
        "memo"
    }

    fn around<'a>(
        &'a self,
        call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            let key = (self.key)(call, next.input());
            let slot = Arc::clone(self.slots.lock().unwrap().entry(key).or_default());
            let mut kept = slot.lock().await;
            if let Some(kept) = &*kept {
                return next.serve(kept);
            }
            let proof = next.run().await?;
            *kept = next.keep(&proof);
            Ok(proof)
        })
    }
}
