//! How an LLM effect is set up.

use std::fmt;
use std::sync::Arc;

use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta};

use super::LlmEffect;
use super::sink::{ConfiguredSink, OnReset, SinkFn};
use crate::provider::Provider;

/// Collects what an [`LlmEffect`] is made of.
#[must_use]
pub struct LlmEffectBuilder {
    id: Arc<str>,
    provider: Arc<dyn Provider>,
    model: Option<String>,
    sink: Option<Arc<dyn DeltaSink>>,
    on_reset: Option<OnReset>,
    stream: bool,
}

impl LlmEffectBuilder {
    pub(super) fn new(id: Arc<str>, provider: Arc<dyn Provider>) -> Self {
        Self { id, provider, model: None, sink: None, on_reset: None, stream: true }
    }

    /// The model of requests that name none.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Follows the live text of every call with a closure: the configured sink. It gets text and resets, never
    /// `done`, on every path and behind the runtime's guards (spec row D12). The call tells the texts of calls
    /// that run at once apart. A later one replaces it.
    pub fn on_delta(self, sink: impl Fn(&CallRef<'_>, &EffectDelta<'_>) + Send + Sync + 'static) -> Self {
        self.on_delta_sink(SinkFn(sink))
    }

    /// As [`on_delta`](Self::on_delta), with a sink that says which kinds it asks for.
    pub fn on_delta_sink(mut self, sink: impl DeltaSink) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    /// Is told, with the attempt that begins, when what the configured sink was shown of a call is void (spec row
    /// D11). It runs after the sink has been told, as a part of it: a panic of either is that sink's.
    pub fn on_reset(mut self, on_reset: impl Fn(&CallRef<'_>, u32) + Send + Sync + 'static) -> Self {
        self.on_reset = Some(Box::new(on_reset));
        self
    }

    /// Whether replies are streamed; they are unless this says otherwise.
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    /// The effect.
    #[must_use]
    pub fn build(self) -> LlmEffect {
        let Self { id, provider, model, sink, on_reset, stream } = self;
        let sink = match on_reset {
            Some(on_reset) => Some(Arc::new(ConfiguredSink { sink, on_reset }) as Arc<dyn DeltaSink>),
            None => sink,
        };
        LlmEffect { id, provider, model, sink, stream }
    }
}

impl fmt::Debug for LlmEffectBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmEffectBuilder").field("id", &self.id).finish_non_exhaustive()
    }
}
