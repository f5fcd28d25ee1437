//! The runtime: effects and hooks, frozen at build, and the callers that use them.

mod builder;
mod caller;
mod coverage;
pub mod engine;
mod invoke;
mod launch;
mod tool;

use std::collections::HashMap;
use std::sync::Arc;

use loom_classify::guard::RequestLimits;

pub use builder::{BuildError, ID_BYTES_MAX, NeedsAuthorizer, Ready, RuntimeBuilder};
pub use caller::Caller;
pub(crate) use coverage::Coverage;
pub use invoke::{AnyInvocation, AnyInvoked, AnyLaunch, Invocation, Invoke};
pub use launch::{CallBuilder, Launch, Reported, Settled};
pub(crate) use tool::ToolEntry;
pub use tool::{Tool, ToolRef};

use crate::caught::caught;
use crate::clock::Clock;
use crate::data::Data;
use crate::effect::EffectMode;
use crate::error::CallError;
use crate::hook::{Around, Authorizer, InputMiddleware, Middleware, OutputMiddleware};
use crate::identity::Identity;
use crate::names::ErrorName;
use crate::warning::Warning;

/// A cheap handle on a built runtime. Its own calls run as [`Identity::default`]; others go through
/// [`EffectRuntime::caller`].
#[derive(Clone)]
pub struct EffectRuntime {
    caller: Caller,
}

impl EffectRuntime {
    /// Begins a runtime. It is built with an authorizer or with `allow_all_calls` said aloud (spec row T6).
    pub fn builder() -> RuntimeBuilder<NeedsAuthorizer> {
        RuntimeBuilder::new()
    }

    /// A caller under an identity. Make one per identity and keep it: it is one reference count, and callers of
    /// their own are what lets threads scale.
    #[must_use]
    pub fn caller(&self, identity: Identity) -> Caller {
        Caller::new(self.caller.shared(), identity)
    }

    /// Calls an effect transiently, as the anonymous caller: no event, no store, no handle (spec row T1).
    pub fn invoke_transient<T: ToolRef<I>, I: Data>(
        &self,
        tool: T,
        input: I,
    ) -> CallBuilder<impl Launch<Out = T::Out> + use<T, I>> {
        self.caller.invoke_transient(tool, input)
    }

    /// The typed handle of an effect: an index, and the types checked once.
    ///
    /// # Errors
    /// `ToolNotFoundError` when no effect has that id, `InputInvalidError` when its types are others.
    pub fn tool<I: Data, O: Data>(&self, id: &str) -> Result<Tool<I, O>, CallError> {
        Tool::find(self.caller.runtime(), id)
    }

    /// The ids of the registered effects, in registration order.
    pub fn tool_ids(&self) -> impl Iterator<Item = &str> {
        self.caller.runtime().tools.iter().map(|entry| &*entry.id)
    }

    /// The mode that an effect declares; `None` when it declares none or there is no such effect.
    #[must_use]
    pub fn mode(&self, id: &str) -> Option<EffectMode> {
        let runtime = self.caller.runtime();
        runtime.tools.get(*runtime.by_id.get(id)? as usize)?.mode
    }

    /// The JSON schema of an effect's input, where it states one.
    #[must_use]
    pub fn input_schema(&self, id: &str) -> Option<&serde_json::Value> {
        let runtime = self.caller.runtime();
        runtime.tools.get(*runtime.by_id.get(id)? as usize)?.schema.as_ref()
    }

    /// The runtime's clock.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.caller.runtime().clock)
    }
}

impl std::fmt::Debug for EffectRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EffectRuntime").field("tools", &self.tool_ids().collect::<Vec<_>>()).finish()
    }
}

/// Where warnings go.
type OnWarn = Arc<dyn Fn(&Warning<'_>) + Send + Sync>;

/// Everything that is fixed once a runtime is built.
pub(crate) struct RuntimeInner {
    /// Unique in the process: a handle of another runtime is refused.
    pub(crate) number: u64,
    pub(crate) tools: Box<[ToolEntry]>,
    pub(crate) by_id: HashMap<Arc<str>, u32>,
    pub(crate) authorizer: Box<dyn Authorizer>,
    pub(crate) rewriters: Box<[Box<dyn InputMiddleware>]>,
    pub(crate) middlewares: Box<[Box<dyn Middleware>]>,
    /// Which of the middlewares have a meter.
    pub(crate) metered: Box<[usize]>,
    pub(crate) inspectors: Box<[Box<dyn OutputMiddleware>]>,
    pub(crate) arounds: Box<[Box<dyn Around>]>,
    pub(crate) names: HookNames,
    pub(crate) coverage: Coverage,
    pub(crate) limits: RequestLimits,
    pub(crate) clock: Arc<dyn Clock>,
    on_warn: OnWarn,
}

impl RuntimeInner {
    /// The tool at an index that this runtime resolved.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "an index is made by `find` alone, and the tools are frozen")]
    pub(crate) fn tool(&self, index: u32) -> &ToolEntry {
        &self.tools[index as usize]
    }

    pub(crate) fn find(&self, id: &str) -> Result<u32, CallError> {
        self.by_id.get(id).copied().ok_or_else(not_found)
    }

    /// Reports a warning. What the reporter does cannot hurt the call.
    pub(crate) fn warn(&self, warning: &Warning<'_>) {
        let _ = caught(|| (self.on_warn)(warning));
    }
}

/// The id is the caller's own text; it is not repeated.
#[cold]
fn not_found() -> CallError {
    CallError::named(ErrorName::ToolNotFound, "no effect is registered under that id")
}

/// The hooks' names, read once at registration.
#[derive(Default)]
pub(crate) struct HookNames {
    rewriters: Vec<String>,
    middlewares: Vec<String>,
    inspectors: Vec<String>,
}

impl HookNames {
    pub(crate) fn rewriter(&self, at: usize) -> &str {
        named(&self.rewriters, at)
    }

    pub(crate) fn middleware(&self, at: usize) -> &str {
        named(&self.middlewares, at)
    }

    pub(crate) fn inspector(&self, at: usize) -> &str {
        named(&self.inspectors, at)
    }
}

fn named(names: &[String], at: usize) -> &str {
    names.get(at).map_or("hook", String::as_str)
}
