//! The agent-model effect.

use std::sync::Arc;

use loom_llm::{LlmEffect, LlmEffectBuilder, Provider};

/// Begins the effect that an agent's model turns are calls of, under `id`, over `provider`.
///
/// It is the LLM effect and nothing beside it (spec rows D4, D12): the sink that is configured here,
/// [`on_delta`](LlmEffectBuilder::on_delta), is the effect's declared one. The runtime alone calls it, behind its
/// guards and after the call's own sink, with text and resets and never with `done`.
pub fn agent_model(id: impl Into<Arc<str>>, provider: impl Provider) -> LlmEffectBuilder {
    LlmEffect::builder(id, provider)
}
