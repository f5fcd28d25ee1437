//! The configured sink as the effect declares it.

use std::sync::Arc;

use loom_effect_runtime::{CallRef, DeltaKinds, DeltaSink, EffectDelta};

pub(super) type OnReset = Box<dyn Fn(&CallRef<'_>, u32) + Send + Sync>;

/// A closure as a sink.
pub(super) struct SinkFn<F>(pub(super) F);

impl<F: Fn(&CallRef<'_>, &EffectDelta<'_>) + Send + Sync + 'static> DeltaSink for SinkFn<F> {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        (self.0)(call, delta);
    }
}

/// The configured sink, if there is one, and who is told of its resets.
pub(super) struct ConfiguredSink {
    pub(super) sink: Option<Arc<dyn DeltaSink>>,
    pub(super) on_reset: OnReset,
}

impl DeltaSink for ConfiguredSink {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        if let Some(sink) = &self.sink {
            sink.deliver(call, delta);
        }
        if let EffectDelta::Reset { attempt, .. } = delta {
            (self.on_reset)(call, *attempt);
        }
    }

    fn wants(&self) -> DeltaKinds {
        self.sink.as_ref().map_or(DeltaKinds::TEXT, |sink| sink.wants())
    }
}
