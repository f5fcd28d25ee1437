//! One call: its facts, its options, its key and its report.

mod key;
mod memo;
mod options;
mod report;

use std::any::Any;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;

pub(crate) use key::CallTag;
pub use key::{CallKey, CallRef};
pub(crate) use memo::MemoIdentity;
pub use memo::MemoKey;
pub use options::{CallOptions, DurableStep, Emitter, ResourceTotals};
pub use report::{CallReport, Outcome};

use crate::caught::Contained;
use crate::error::AbortReason;
use crate::identity::Identity;
use crate::runtime::{Caller, ToolEntry};
use crate::signal::Signals;

/// The hook that runs when none does that may keep.
pub(crate) const HOOK_NONE: usize = u32::MAX as usize;

/// Which side of the durable boundary a call is on (spec row T7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seam {
    /// `invoke_transient`, bare or in a decide scope: writes nothing.
    Transient,
    /// `ctx.run`: a recorded step.
    Durable,
}

/// The facts of a call that outlive its frame: cheap to clone, what guards and sinks are made with.
#[derive(Clone)]
pub struct CallInfo {
    pub(crate) caller: Caller,
    pub(crate) tool: u32,
    /// What a plain bare call does not have: an identity of its own, a durable step, a call key.
    facts: Option<Arc<Facts>>,
}

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) identity: Option<Identity>,
    pub(crate) step: Option<DurableStep>,
    pub(crate) key: Option<CallKey>,
}

impl CallInfo {
    /// The tool's id.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.entry().id
    }

    /// Who asks and what it runs as.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        match self.facts.as_ref().and_then(|facts| facts.identity.as_ref()) {
            Some(identity) => identity,
            None => self.caller.identity(),
        }
    }

    /// The identity of the caller itself, whatever the call asks to act as.
    #[must_use]
    pub fn caller_identity(&self) -> &Identity {
        self.caller.identity()
    }

    /// The flow's id, in an execution.
    #[must_use]
    pub fn workflow_id(&self) -> Option<&str> {
        self.identity().run_as.as_ref().map(|run_as| &*run_as.workflow_id)
    }

    /// The execution's id; `transient:<label>` of a bare call (spec row T6).
    #[must_use]
    pub fn execution_id(&self) -> &str {
        self.execution()
    }

    /// The step's id: the tool id of a transient call (spec row T8).
    #[must_use]
    pub fn step_id(&self) -> &str {
        self.step_or_tool()
    }

    /// The key that tells scope calls of one execution apart; append it to every id minted from
    /// (execution id, step id) (spec row T8).
    #[must_use]
    pub fn call_key(&self) -> Option<&CallKey> {
        self.facts.as_ref()?.key.as_ref()
    }

    /// The provider's idempotency key, on the durable path only: `execution_id:path` (spec row T1).
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.step().map(|step| &*step.idempotency_key)
    }

    /// Which side of the durable boundary the call is on.
    #[must_use]
    pub fn seam(&self) -> Seam {
        if self.step().is_some() { Seam::Durable } else { Seam::Transient }
    }

    /// What deliveries name the call by.
    pub(crate) fn tag(&self, number: u64, attempt: u32) -> CallTag {
        let key = self.call_key().cloned();
        CallTag {
            execution: self.execution().clone(),
            step: self.step_or_tool().clone(),
            key,
            attempt,
            number,
        }
    }

    fn execution(&self) -> &Arc<str> {
        let identity = self.identity();
        match (&identity.run_as, &identity.transient_id) {
            (Some(run_as), _) => &run_as.execution_id,
            (None, Some(transient)) => transient,
            (None, None) => &self.entry().transient_id,
        }
    }

    fn step_or_tool(&self) -> &Arc<str> {
        match self.step() {
            Some(step) => &step.step_id,
            None => &self.entry().id,
        }
    }

    fn step(&self) -> Option<&DurableStep> {
        self.facts.as_ref()?.step.as_ref()
    }

    #[inline]
    pub(crate) fn entry(&self) -> &ToolEntry {
        self.caller.runtime().tool(self.tool)
    }
}

impl std::fmt::Debug for CallInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallInfo")
            .field("tool", &self.tool())
            .field("execution_id", &self.execution_id())
            .field("call_key", &self.call_key())
            .finish_non_exhaustive()
    }
}

/// One call as hooks see it. Dereferences to its [`CallInfo`].
pub struct Call {
    info: CallInfo,
    options: Option<Box<CallOptions>>,
    /// Which hook runs now: what `keep` is keyed by, so that two middlewares of one type never mix.
    hook: AtomicU32,
    kept: Mutex<Option<Box<Kept>>>,
}

type Kept = Vec<(u32, Contained<Box<dyn Any + Send>>)>;

impl Call {
    #[inline]
    pub(crate) fn new(caller: Caller, tool: u32, mut options: Option<Box<CallOptions>>) -> Self {
        let facts = options.as_mut().and_then(|options| options.facts(&caller));
        Self {
            info: CallInfo { caller, tool, facts },
            options,
            hook: AtomicU32::new(u32::MAX),
            kept: Mutex::new(None),
        }
    }

    /// The composed cancellation of the call (spec row D8).
    #[must_use]
    pub fn signal(&self) -> &Signals {
        match &self.options {
            Some(options) => &options.signals,
            None => NO_SIGNALS,
        }
    }

    /// Why the call was aborted, once it was.
    #[inline]
    pub(crate) fn abort_reason(&self) -> Option<AbortReason> {
        self.options.as_ref()?.signals.reason()
    }

    /// The running totals of the execution, for admission (spec row T12).
    #[must_use]
    pub fn totals(&self) -> Option<&ResourceTotals> {
        self.options.as_ref()?.totals.as_ref()
    }

    /// Whether the caller asks as another principal or execution than its own.
    #[must_use]
    pub fn acts_as_another(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.run_as.is_some() || options.principal.is_some())
    }

    /// Unix time in milliseconds, from the runtime's clock.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.info.caller.runtime().clock.now_ms()
    }

    /// Time since a fixed point of this process, from the runtime's clock: to compare, as Unix time is not.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        self.info.caller.runtime().clock.monotonic()
    }

    /// A future that is ready after `duration` on the runtime's clock, or `None` where there is no timer.
    #[must_use]
    pub fn sleep(&self, duration: Duration) -> Option<BoxFuture<'static, ()>> {
        self.info.caller.runtime().clock.sleep(duration)
    }

    /// Keeps a value for this middleware's own `after` hook, such as a start time or a permit. It is dropped
    /// however the call ends, also when the caller drops it. Keyed by the hook that runs now; a second value
    /// replaces the first. For `before`, `before_wait` and `after` of a [`Middleware`](crate::Middleware); what any
    /// other hook gives is dropped at once.
    pub fn keep<T: Send + 'static>(&self, value: T) {
        let value: Contained<Box<dyn Any + Send>> = Contained::new(Box::new(value));
        let hook = self.hook.load(Ordering::Relaxed);
        if hook as usize == HOOK_NONE {
            return;
        }
        let mut slots = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = slots.get_or_insert_default();
        slots.retain(|(owner, _)| *owner != hook);
        slots.push((hook, value));
    }

    /// Takes back what this middleware kept, when it is a `T`.
    #[must_use]
    pub fn take_kept<T: Send + 'static>(&self) -> Option<T> {
        let mut slots = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = slots.as_mut()?;
        let hook = self.hook.load(Ordering::Relaxed);
        let is_own = |slot: &(u32, Contained<Box<dyn Any + Send>>)| {
            slot.0 == hook && slot.1.get().is_some_and(|value| value.is::<T>())
        };
        let at = slots.iter().position(is_own)?;
        slots.swap_remove(at).1.into_inner()?.downcast().ok().map(|value| *value)
    }

    /// The facts that outlive the call.
    #[must_use]
    pub fn info(&self) -> &CallInfo {
        &self.info
    }

    #[inline]
    pub(crate) fn enter_hook(&self, hook: usize) {
        self.hook.store(hook as u32, Ordering::Relaxed);
    }

    /// The hook that runs now, or ran last.
    pub(crate) fn hook(&self) -> usize {
        self.hook.load(Ordering::Relaxed) as usize
    }

    #[inline]
    pub(crate) fn options(&self) -> Option<&CallOptions> {
        self.options.as_deref()
    }
}

const NO_SIGNALS: &Signals = &Signals::none();

impl Deref for Call {
    type Target = CallInfo;

    fn deref(&self) -> &CallInfo {
        &self.info
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.info.fmt(f)
    }
}
