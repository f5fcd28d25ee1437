//! Effects: the typed units of work that the runtime governs.

mod context;
mod erased;

use std::future::Future;
use std::sync::Arc;

pub use context::EffectContext;
pub(crate) use erased::{DynEffect, Erased};

use crate::data::Data;
use crate::delta::DeltaSink;
use crate::error::CallError;

/// On which seam an effect may be called (spec row T7). Leaving it undeclared is a real answer: both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectMode {
    /// Only as a recorded step: a mutation that must be journaled.
    Journaled,
    /// Only transiently.
    Transient,
}

/// A typed unit of work.
///
/// # Contract
/// - `execute` is given the very input that the hooks saw.
/// - Live text goes to `cx.deltas()`; `?` on its error is enough. An effect that catches the error, ignores it or
///   parks for ever still cannot make a severed call succeed (spec row D15).
/// - A pump on another task must be joined before `execute` returns: what arrives later is dropped.
/// - `execute` should stop when `cx.signal()` is raised; its future is dropped then anyway.
///
/// # Cancel safety
/// The future may be dropped at any await: on abort, timeout, sever, or when the caller drops the call.
///
/// # Panics
/// A panic fails the call with `EffectPanickedError`.
pub trait Effect: Send + Sync + 'static {
    /// What it takes.
    type Input: Data;
    /// What it gives.
    type Output: Data;

    /// The id it is registered and called under: at most 128 bytes, without `/` and `~`.
    fn id(&self) -> &str;

    /// The ready lane: an effect that can answer without waiting does so here, and no future is boxed.
    fn ready(
        &self,
        _input: &Self::Input,
        _cx: &EffectContext<'_>,
    ) -> Option<Result<Self::Output, CallError>> {
        None
    }

    /// Does the work.
    fn execute(
        &self,
        input: &Self::Input,
        cx: &EffectContext<'_>,
    ) -> impl Future<Output = Result<Self::Output, CallError>> + Send;

    /// The configured sink: guarded by the runtime on every path, and called by nobody else (spec row D12).
    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        None
    }

    /// Shows `piece` the part of the output that the live text of choice 0 is, in order, and answers whether it
    /// stated one. Where it does, the runtime compares the two and fails the call that differs (spec row D11).
    fn live_text(_output: &Self::Output, _piece: &mut dyn FnMut(&str)) -> bool {
        false
    }

    /// The seam it must be called on, if it matters.
    fn mode(&self) -> Option<EffectMode> {
        None
    }

    /// Whether it may run again within one call after a delta of it was delivered.
    fn repeatable(&self) -> bool {
        false
    }

    /// The kind of origin that its text is tainted with: `llm` makes `llm:<tool id>` (spec row D9).
    fn origin_kind(&self) -> &str {
        "llm"
    }

    /// The JSON schema of its input, for whoever describes tools to a model.
    fn input_schema(&self) -> Option<serde_json::Value> {
        None
    }
}
