//! Caches the outputs of the tools it is told of, without reading one: it keeps and serves proofs.
//!
//! Written by a stranger: against the public interface of `loom_effect_runtime` alone.
//!
//! ```
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
//! use stranger_cacher::Cacher;
//!
//! struct Lookup;
//!
//! impl Effect for Lookup {
//!     type Input = String;
//!     type Output = String;
//!     fn id(&self) -> &str { "lookup" }
//!     async fn execute(&self, word: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         Ok(word.to_uppercase())
//!     }
//! }
//!
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .around(Cacher::new(100).tool("lookup"))
//!     .effect(Lookup)
//!     .build()?;
//! let lookup = runtime.tool::<String, String>("lookup")?;
//! # let tokio = tokio::runtime::Builder::new_current_thread().build()?;
//! # tokio.block_on(async {
//! for attempts in [1, 0] {
//!     let (output, report) = runtime.invoke_transient(lookup, "ada".to_owned()).reported().await;
//!     assert_eq!((output?.as_str(), report.attempts), ("ADA", attempts));
//! }
//! # Ok::<(), CallError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entries;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use entries::ENTRIES_MAX;
use entries::Entries;
use loom_effect_runtime::{Around, Call, CallError, Kept, MemoKey, Next, Opaque, Seam};

type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An around that serves an output it kept for the same key: tool, input and everything about the caller that decides
/// who may see the result.
///
/// Only tools named with [`Cacher::tool`] are cached, and only their transient calls: whether the same input may give
/// the same answer is known to who registers a tool, and a recorded step is the journal's to serve. Failures are
/// never kept, and an input without a JSON form is not cached.
pub struct Cacher {
    tools: Vec<String>,
    entries: Mutex<Entries<MemoKey, Kept>>,
}

impl Cacher {
    /// Keeps at most `capacity` outputs (brought into 1 to [`ENTRIES_MAX`]); the oldest goes first.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { tools: Vec::new(), entries: Mutex::new(Entries::new(capacity)) }
    }

    /// Caches the calls of `tool`.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        self.tools.push(tool.into());
        self
    }

    fn caches(&self, call: &Call) -> bool {
        call.seam() == Seam::Transient && self.tools.iter().any(|tool| tool == call.tool())
    }

    fn entries(&self) -> MutexGuard<'_, Entries<MemoKey, Kept>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run<'a>(&self, call: &Call, mut next: Next<'a>) -> Result<Opaque<'a>, CallError> {
        let key = if self.caches(call) { call.memo_key(next.input()).ok() } else { None };
        let Some(key) = key else { return next.run().await };
        let kept = self.entries().find(&key);
        if let Some(kept) = kept {
            return next.serve(&kept);
        }
        let proof = next.run().await?;
        if let Some(kept) = next.keep(&proof) {
            self.entries().keep(key, kept);
        }
        Ok(proof)
    }
}

impl Around for Cacher {
    fn name(&self) -> &str {
        "stranger-cacher"
    }

    fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> Boxed<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(self.run(call, next))
    }
}
