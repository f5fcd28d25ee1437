//! The governed LLM effect: one request to a provider as one effect, its pieces through the guarded channel.

mod arguments;
mod builder;
mod reading;
mod reply;
mod sink;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use loom_effect_runtime::{CallError, DeltaSink, Effect, EffectContext, Usage};

use crate::chunk::Collected;
use crate::error::{ProviderError, ProviderFault};
use crate::provider::Provider;
use crate::request::ChatRequest;

pub use arguments::{ToolArguments, ToolArgumentsError};
pub use builder::LlmEffectBuilder;
pub use reply::{FinishReason, LlmReply, LlmToolCall};

/// Asks a model: [`ChatRequest`] in, [`LlmReply`] out.
///
/// The live text is the reply's content: answer and refusal alike, in the order they came. Reasoning and the
/// arguments of tool calls are lanes of their own, for sinks that ask (spec row D20). A piece is delivered only after
/// the runtime's guards accepted it; a sever or an abort drops the provider's stream, which closes the connection
/// (spec rows D8, D15). Usage is reported as it comes, so that a failed attempt keeps what it spent.
///
/// It may run again within one call: providers are asked anew and every sink is told to clear.
///
/// A provider that cannot stream, or [`LlmEffectBuilder::stream`] off, is asked for the whole reply: then no delta
/// and no end mark is sent.
///
/// # Without a runtime
/// There is no such way. An effect runs in the context that a runtime gives it, and only the runtime calls the
/// configured sink, behind its guards (spec row D12).
///
/// # Errors
/// `ProviderError`, with the [`ProviderError`] as its source
/// ([`behind`](crate::ProviderError::behind) finds it); what guards and signals say comes back as the runtime's own.
///
/// # Cancel safety
/// Dropping the future closes the connection; what was delivered stays delivered.
pub struct LlmEffect {
    id: Arc<str>,
    provider: Arc<dyn Provider>,
    model: Option<String>,
    sink: Option<Arc<dyn DeltaSink>>,
    stream: bool,
}

impl LlmEffect {
    /// Begins an effect under `id` that asks `provider`.
    pub fn builder(id: impl Into<Arc<str>>, provider: impl Provider) -> LlmEffectBuilder {
        LlmEffectBuilder::new(id.into(), Arc::new(provider))
    }

    /// The request as the provider gets it.
    fn addressed<'r>(&self, request: &'r ChatRequest) -> Cow<'r, ChatRequest> {
        match (&request.model, &self.model) {
            (None, Some(model)) => {
                let mut addressed = request.clone();
                addressed.model = Some(model.clone());
                Cow::Owned(addressed)
            }
            _ => Cow::Borrowed(request),
        }
    }

    async fn ask_whole(&self, request: &ChatRequest, cx: &EffectContext<'_>) -> Result<Collected, CallError> {
        let known = |usage: Option<Usage>| usage.filter(|usage| *usage != Usage::default());
        let replied = self.provider.complete(request).await;
        let usage = known(replied.as_ref().map_or_else(ProviderError::usage, |collected| collected.usage));
        if let Some(usage) = usage {
            cx.usage(usage);
        }
        Ok(Collected { usage, ..replied? })
    }
}

impl Effect for LlmEffect {
    type Input = ChatRequest;
    type Output = LlmReply;

    fn id(&self) -> &str {
        &self.id
    }

    async fn execute(&self, request: &ChatRequest, cx: &EffectContext<'_>) -> Result<LlmReply, CallError> {
        let request = self.addressed(request);
        if self.stream {
            match self.provider.stream(&request).await {
                Ok(stream) => {
                    let (collected, refused) = reading::read(self.provider.name(), stream, cx).await?;
                    return Ok(LlmReply::of(collected, refused, cx));
                }
                Err(error) if *error.fault() == ProviderFault::CannotStream => {}
                Err(error) => return Err(error.into()),
            }
        }
        let collected = self.ask_whole(&request, cx).await?;
        Ok(LlmReply::of(collected, false, cx))
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        self.sink.clone()
    }

    fn live_text(reply: &LlmReply, piece: &mut dyn FnMut(&str)) -> bool {
        piece(reply.content.expose_tainted());
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

impl fmt::Debug for LlmEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmEffect")
            .field("id", &self.id)
            .field("provider", &self.provider.name())
            .field("model", &self.model)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
