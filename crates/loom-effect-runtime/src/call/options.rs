//! The options of one call.

use std::sync::Arc;

use serde_json::Value;

use crate::call::{CallKey, Facts};
use crate::caught::caught;
use crate::delta::{DeltaSink, MeterForm, Usage};
use crate::error::{CallError, Refusal};
use crate::identity::{Principal, RunAs};
use crate::names::ErrorName;
use crate::runtime::Caller;
use crate::signal::{Signal, Signals};

/// A durable step as the journal knows it: what `ctx.run` passes to the path.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DurableStep {
    /// The step's id.
    pub step_id: Arc<str>,
    /// `execution_id:path`, given to providers as their idempotency key.
    pub idempotency_key: Arc<str>,
}

impl DurableStep {
    /// A step under its id and idempotency key.
    #[must_use]
    pub fn new(step_id: impl Into<Arc<str>>, idempotency_key: impl Into<Arc<str>>) -> Self {
        Self { step_id: step_id.into(), idempotency_key: idempotency_key.into() }
    }
}

/// What an execution has used so far; admission hooks decide on it (spec row T12).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceTotals {
    /// Durable calls made.
    pub calls: u64,
    /// Tokens as providers reported them; a call that reported none adds nothing.
    pub usage: Usage,
}

impl ResourceTotals {
    /// Totals of `calls` durable calls.
    #[must_use]
    pub fn new(calls: u64, usage: Usage) -> Self {
        Self { calls, usage }
    }
}

/// Where an effect's `emit` goes on the durable path. On the transient path there is none, so an event is dropped
/// by construction (spec row T1).
pub trait Emitter: Send + Sync + 'static {
    /// Takes a domain event; it joins the step's own append.
    fn emit(&self, kind: &str, payload: Value);
}

/// The options of one call, as the call builder and the workflow set them.
#[derive(Default)]
pub struct CallOptions {
    pub(crate) sink: Option<Arc<dyn DeltaSink>>,
    pub(crate) signals: Signals,
    pub(crate) label: Option<String>,
    pub(crate) principal: Option<Principal>,
    pub(crate) run_as: Option<RunAs>,
    pub(crate) step: Option<DurableStep>,
    pub(crate) key: Option<CallKey>,
    pub(crate) totals: Option<ResourceTotals>,
    pub(crate) emitter: Option<Arc<dyn Emitter>>,
    pub(crate) meter: Option<Arc<dyn MeterForm>>,
    pub(crate) in_execution: bool,
    pub(crate) broken: Option<CallError>,
}

impl CallOptions {
    pub(crate) fn add_signal(&mut self, signal: Signal) {
        if !self.signals.add(signal) {
            self.broken = Some(CallError::from(Refusal::new(ErrorName::QuotaExceeded, "signals")));
        }
    }

    /// What tells this call from a plain one, resolved once when the call starts.
    #[cold]
    pub(super) fn facts(&mut self, caller: &Caller) -> Option<Arc<Facts>> {
        let own = self.label.is_some() || self.principal.is_some() || self.run_as.is_some();
        let identity = own.then(|| {
            let mut identity = caller.identity().clone();
            if let Some(principal) = &self.principal {
                identity.principal = principal.clone();
            }
            if let Some(run_as) = &self.run_as {
                identity.run_as = Some(run_as.clone());
            }
            if let Some(label) = &self.label {
                identity.set_label(label);
            }
            identity
        });
        let facts = Facts { identity, step: self.step.take(), key: self.key.take() };
        let plain = facts.identity.is_none() && facts.step.is_none() && facts.key.is_none();
        (!plain).then(|| Arc::new(facts))
    }
}

impl Drop for CallOptions {
    /// What third parties gave may panic when it is dropped; the call's result stands.
    fn drop(&mut self) {
        let given = (self.sink.take(), self.emitter.take(), self.meter.take());
        let _ = caught(|| drop(given));
    }
}

impl std::fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallOptions")
            .field("sink", &self.sink.is_some())
            .field("label", &self.label)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
