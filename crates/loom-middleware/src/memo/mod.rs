//! Memo: outputs that were kept are served again, and calls that overlap share one run.

mod flight;
mod hash;
mod policy;
mod state;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque, Seam};

use flight::Word;
pub use policy::{FLIGHTS_DEFAULT, FLIGHTS_MAX, FOLLOWERS_DEFAULT, FOLLOWERS_MAX, MEMO_CAPACITY_MAX, Ttl};
use store::{Asked, Part, Store, Turn};

/// Serves inspected outputs that it kept, for the tools that it is told of, without reading one (spec row T14).
///
/// ```
/// use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
/// use loom_middleware::{Memo, Ttl};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// struct Lookup;
///
/// impl Effect for Lookup {
///     type Input = String;
///     type Output = String;
///     fn id(&self) -> &str { "lookup" }
///     async fn execute(&self, word: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
///         Ok(word.to_uppercase())
///     }
/// }
///
/// let minute = Duration::from_secs(60);
/// let memo = Arc::new(Memo::new(1000).tool("lookup", Ttl::new(minute).stale(10 * minute)));
/// let runtime = EffectRuntime::builder()
///     .allow_all_calls()
///     .around(Arc::clone(&memo))
///     .effect(Lookup)
///     .build()?;
/// let lookup = runtime.tool::<String, String>("lookup")?;
/// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
/// # tokio.block_on(async {
/// for attempts in [1, 0] {
///     let (output, report) = runtime.invoke_transient(lookup, "ada".to_owned()).reported().await;
///     assert_eq!((output?.as_str(), report.attempts), ("ADA", attempts));
/// }
/// assert_eq!((memo.counts().misses, memo.counts().hits), (1, 1));
/// memo.forget("lookup");
/// # Ok::<(), CallError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is served to whom
/// A call is served what was kept under its own [key](Call::memo_key): runtime, tool, input, and everything about the
/// caller that decides who may see the result: principal with chain, delegation and actor, run-as identity, label. Two
/// identities share nothing, ever. What the key does not hold cannot tell two calls apart: a field of the input that
/// serde skips, the time of day, a file, a database, another tool's state. That is why tools are opted in one by one: only
/// who registers a tool knows whether the same input asks for the same answer. An input that has no key (a number that JSON
/// cannot write) is not memoised.
///
/// Only transient calls are: a recorded step is the journal's to serve. Failures and refusals are never kept. The
/// authorizer, the request guard and every `before` hook judge a call that is then served as they judge any other. It has no
/// live text and no `done`, and its report says `attempts: 0`.
///
/// # For how long
/// For as long as the tool's [`Ttl`] says, on the runtime's monotonic clock. In the stale window after that the call runs
/// again, and is served the old output where the run fails: a refusal, a sever and an abort are no such failure (spec row
/// T11). What a failed run had streamed is taken back by a reset. An output whose time is over is never served; it is
/// dropped when another takes its place.
///
/// # Calls that overlap
/// Of the calls of one key one leads and the others wait; what it brings is served to all, a stale output too. Where its
/// run fails and nothing can stand in, no other call is handed that failure: the next one leads, in the order in which they
/// came. So it is where the leader is dropped, aborted or refused, or panics. A call that waits obeys its own signals.
/// At most [`FLIGHTS_DEFAULT`] keys are led at once and at most [`FOLLOWERS_DEFAULT`] calls wait for each
/// ([`Memo::flights_max`], [`Memo::followers_max`]); a call beyond that runs by itself, beside the others.
///
/// A leader has to be polled: one that its caller holds without polling keeps its followers waiting until it is dropped.
/// So does an effect that calls its own tool with its own input, which would never end without a memo either.
///
/// # Where it is registered
/// | order | what it means |
/// | --- | --- |
/// | before a retry, a timeout or a breaker | they are part of the run: it is led once for all its attempts, and a stale output stands in when the last has failed |
/// | behind a retry | each attempt asks the memo again: a stale output ends the retrying at the first failure, and between two attempts the lead goes to the next that waits |
/// | behind a timeout | the timeout drops the memo as well: a lead goes to the next, and nothing stale is served |
///
/// # Cost
/// A hit is two allocations, the future and the key, and one short lock that all calls of the memo share; the counts are
/// kept under it, so that they are no shared write of their own.
///
/// # Panics
/// Never by itself.
pub struct Memo {
    /// Sorted by name.
    tools: Vec<(Box<str>, Ttl)>,
    store: Arc<Store>,
}

/// What a memo did so far. Each call of a memoised tool is in one of `hits`, `misses` and `waits`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoCounts {
    /// Calls served at once.
    pub hits: u64,
    /// Calls that ran at once.
    pub misses: u64,
    /// Calls that waited for another's run.
    pub waits: u64,
    /// Runs that failed and were stood in for by what had been kept.
    pub stale: u64,
    /// Outputs that are kept now, those included whose time is over.
    pub kept: usize,
    /// Calls that wait now.
    pub waiting: usize,
}

impl Memo {
    /// A memo of at most `capacity` outputs (brought into 1 to [`MEMO_CAPACITY_MAX`]); the least recently used makes room.
    /// Their size in memory is not known to it.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { tools: Vec::new(), store: Arc::new(Store::new(capacity.clamp(1, MEMO_CAPACITY_MAX))) }
    }

    /// Memoises the transient calls of `tool`, for as long as `ttl` says. Told again, the later stands.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<String>, ttl: impl Into<Ttl>) -> Self {
        let (tool, ttl) = (tool.into().into_boxed_str(), ttl.into());
        match self.place(&tool) {
            Ok(at) => {
                if let Some((_, told)) = self.tools.get_mut(at) {
                    *told = ttl;
                }
            }
            Err(at) => self.tools.insert(at, (tool, ttl)),
        }
        self
    }

    /// How many keys may be led at once, at most [`FLIGHTS_MAX`]; [`FLIGHTS_DEFAULT`] unless it is set.
    #[must_use]
    pub fn flights_max(self, flights: usize) -> Self {
        self.store.state().flights.flights_max = flights.min(FLIGHTS_MAX);
        self
    }

    /// How many calls may wait for one run, at most [`FOLLOWERS_MAX`]; [`FOLLOWERS_DEFAULT`] unless it is set. With none,
    /// each call runs by itself.
    #[must_use]
    pub fn followers_max(self, followers: usize) -> Self {
        self.store.state().flights.followers_max = followers.min(FOLLOWERS_MAX);
        self
    }

    /// Drops all that was kept of `tool`. What a run brings that was asked for before this is served to who waits for it
    /// already, and not kept; a call that comes after this does not wait for it.
    pub fn forget(&self, tool: &str) {
        if let Ok(at) = self.place(tool) {
            self.store.forget(at);
        }
    }

    /// [`Memo::forget`] of every tool.
    pub fn clear(&self) {
        self.store.clear();
    }

    /// What it did so far.
    #[must_use]
    pub fn counts(&self) -> MemoCounts {
        let (counts, kept, waiting) = self.store.counts();
        let store::Counts { hits, misses, stale, waits } = counts;
        MemoCounts { hits, misses, waits, stale, kept, waiting }
    }

    fn place(&self, tool: &str) -> Result<usize, usize> {
        self.tools.binary_search_by(|(told, _)| (**told).cmp(tool))
    }

    /// What the call asks the store, where it is one that is memoised.
    fn ask(&self, call: &Call, next: &Next<'_>) -> Option<Turn<'_>> {
        let at = self.place(call.tool()).ok()?;
        let (_, ttl) = self.tools.get(at)?;
        if call.seam() != Seam::Transient {
            return None;
        }
        let key = call.memo_key(next.input()).ok()?;
        Some(self.store.ask(at, *ttl, key, call.monotonic()))
    }

    async fn run<'a>(&self, call: &Call, mut next: Next<'a>) -> Result<Opaque<'a>, CallError> {
        match self.ask(call, &next) {
            None => next.run().await,
            Some(Turn::Serve(kept)) => next.serve(&kept),
            // Boxed, so that a hit carries no room for this.
            Some(Turn::Run(asked, part)) => Box::pin(self.take_part(call, next, asked, part)).await,
        }
    }

    async fn take_part<'a>(
        &self,
        call: &Call,
        mut next: Next<'a>,
        asked: Asked,
        part: Part<'_>,
    ) -> Result<Opaque<'a>, CallError> {
        let lead = match part {
            Part::Lead(lead) => Some(lead),
            Part::Alone => None,
            Part::Follow(follower) => match follower.word().await {
                Some(Word::Landed(kept)) => return next.serve(&kept),
                Some(Word::Lead(lead)) => Some(lead),
                None => None,
            },
        };
        // However this ends without landing, the lead that is dropped with it goes to the next.
        match next.run().await {
            Ok(proof) => {
                if let Some(kept) = next.keep(&proof) {
                    self.store.keep(asked, &kept, call.monotonic());
                    if let Some(lead) = lead {
                        lead.land(&kept);
                    }
                }
                Ok(proof)
            }
            Err(error) if error.is_refusal() => Err(error),
            Err(error) => {
                let Some(kept) = self.store.instead(&asked, call.monotonic()) else { return Err(error) };
                if let Some(lead) = lead {
                    lead.land(&kept);
                }
                next.serve(&kept).or(Err(error))
            }
        }
    }
}

impl Around for Memo {
    fn name(&self) -> &str {
        "memo"
    }

    fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(self.run(call, next))
    }
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memo")
            .field("tools", &self.tools)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
