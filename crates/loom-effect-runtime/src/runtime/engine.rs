//! What a workflow engine marks its calls with. Not for applications: a call so marked claims to be an execution's.

use std::sync::Arc;

use super::launch::{CallBuilder, Launch};
use crate::call::{CallKey, DurableStep, Emitter, ResourceTotals};

/// Marks calls as those of an execution. The caller's identity is the execution's, made with
/// [`Identity::execution`](crate::Identity::execution).
pub trait EngineCall: Sized {
    /// One of the execution's decide scope (spec rows T6, T8): neither principal nor run-as can be overridden, and the
    /// call has a key.
    #[must_use]
    fn in_scope(self, key: CallKey, totals: ResourceTotals) -> Self;

    /// A recorded step: the durable side of the same path.
    #[must_use]
    fn durable(self, step: DurableStep) -> Self;

    /// Where a durable step's `emit` goes, and the execution's running totals. On the transient seam there is no
    /// emitter, whatever is said here (spec row T1).
    #[must_use]
    fn recorded_by(self, emitter: Arc<dyn Emitter>, totals: ResourceTotals) -> Self;
}

impl<L: Launch> EngineCall for CallBuilder<L> {
    fn in_scope(mut self, key: CallKey, totals: ResourceTotals) -> Self {
        let options = self.options();
        options.in_execution = true;
        options.principal = None;
        options.run_as = None;
        options.key = Some(key);
        options.totals = Some(totals);
        self
    }

    fn durable(mut self, step: DurableStep) -> Self {
        let options = self.options();
        options.in_execution = true;
        options.principal = None;
        options.run_as = None;
        options.step = Some(step);
        self
    }

    fn recorded_by(mut self, emitter: Arc<dyn Emitter>, totals: ResourceTotals) -> Self {
        let options = self.options();
        options.emitter = Some(emitter);
        options.totals = Some(totals);
        self
    }
}
