//! What an effect is given beside its input.

use std::time::Duration;

use futures::future::BoxFuture;
use loom_classify::{Origins, Tainted};
use serde_json::Value;

use crate::call::{CallInfo, CallKey, Seam};
use crate::delta::{Deltas, Usage};
use crate::path::Live;
use crate::signal::Signals;

/// The context of one attempt.
pub struct EffectContext<'a> {
    pub(crate) live: &'a Live,
    pub(crate) room: u32,
}

impl EffectContext<'_> {
    /// The facts of the call: tool, identity, execution, step.
    #[must_use]
    pub fn call(&self) -> &CallInfo {
        self.live.call.info()
    }

    /// The key to append to every id minted from (execution id, step id) (spec row T8).
    #[must_use]
    pub fn call_key(&self) -> Option<&CallKey> {
        self.live.call.call_key()
    }

    /// The provider's idempotency key; on the durable path only (spec row T1).
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.live.call.idempotency_key()
    }

    /// The attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.room
    }

    /// The composed cancellation of the call. When it is raised the effect's future is dropped.
    #[must_use]
    pub fn signal(&self) -> &Signals {
        self.live.call.signal()
    }

    /// The live channel of this attempt. An effect that never asks pays nothing for it.
    #[must_use]
    pub fn deltas(&self) -> Deltas {
        self.live.channel(self.room).handle(self.room)
    }

    /// Reports the provider's usage; for effects that do not stream. The last report of an attempt stands, and what
    /// [`Deltas::end`] says stands before it.
    pub fn usage(&self, usage: Usage) {
        self.live.report_usage(usage);
    }

    /// Emits a domain event. It joins the step's own append on the durable path, and is dropped by construction on
    /// the transient one (spec row T1).
    pub fn emit(&self, kind: &str, payload: Value) {
        if self.call().seam() == Seam::Durable
            && let Some(emitter) = self.live.call.options().and_then(|options| options.emitter.as_deref())
        {
            emitter.emit(kind, payload);
        }
    }

    /// The origins of what this call gives: `<kind>:<tool id>`, joined with those of fenced content in its request.
    #[must_use]
    pub fn origins(&self) -> Origins {
        self.live.origins()
    }

    /// Taints content with [`EffectContext::origins`]: what every effect does with text from outside (spec row D9).
    #[must_use]
    pub fn taint<T>(&self, value: T) -> Tainted<T> {
        Tainted::new(value, self.origins())
    }

    /// A future that is ready after `duration` on the runtime's clock, or `None` where there is no timer.
    #[must_use]
    pub fn sleep(&self, duration: Duration) -> Option<BoxFuture<'static, ()>> {
        self.live.call.sleep(duration)
    }

    /// Unix time in milliseconds, from the runtime's clock.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.live.call.now_ms()
    }
}

impl std::fmt::Debug for EffectContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EffectContext")
            .field("call", self.call())
            .field("attempt", &self.room)
            .finish_non_exhaustive()
    }
}
