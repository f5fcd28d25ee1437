//! Where deltas go.

use super::{DeltaKinds, EffectDelta};
use crate::call::CallRef;

/// Receives the live view of calls.
///
/// # Contract
/// Delivery is synchronous, fire-and-forget and without back-pressure: a sink that blocks delays its own call.
/// A sink that writes back into its own channel is refused; one that waits for another thread which does so waits for
/// ever. Every delivery names its call, so one sink may serve
/// many calls at once.
///
/// # Panics
/// A panic is caught, keeps no delta from the other sink, and is reported once a call (spec row D6).
pub trait DeltaSink: Send + Sync + 'static {
    /// Takes one delta.
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>);

    /// Which kinds it asks for: text, unless it says otherwise (spec row D20). Asked once a call.
    fn wants(&self) -> DeltaKinds {
        DeltaKinds::TEXT
    }
}

/// A closure over the delta alone is a sink: what [`on_delta`](crate::CallBuilder::on_delta) takes.
pub(crate) struct SinkFn<F>(pub(crate) F);

impl<F: Fn(&EffectDelta<'_>) + Send + Sync + 'static> DeltaSink for SinkFn<F> {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        (self.0)(delta);
    }
}
