//! The one trait that a source of model output implements.

use std::pin::Pin;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::Stream;

use crate::chunk::{Collected, LlmChunk};
use crate::collect::assemble;
use crate::error::ProviderError;
use crate::request::ChatRequest;

/// The pieces of one reply, in order; it ends after the last piece or after its first error.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<LlmChunk, ProviderError>> + Send>>;

/// A source of model output.
///
/// # Contract
/// One call sends one request: a provider never repeats or resumes one on its own, because what was already shown
/// would be shown twice and a completion may be billed twice. It delivers pieces as they arrive, verbatim.
///
/// # Cancel safety
/// Dropping the future, or the stream it gave, cancels the request and closes the connection to the provider; that is
/// the only way to cancel and it may happen at any point.
pub trait Provider: Send + Sync + 'static {
    /// The provider's name in errors and logs: operator's text, never text from the wire.
    fn name(&self) -> &str;

    /// Asks for a streamed reply. The future is ready when the reply has begun. A provider that cannot stream answers
    /// [`ProviderFault::CannotStream`](crate::ProviderFault::CannotStream) and sends nothing; it must bring its own [`complete`](Self::complete).
    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>>;

    /// Asks for a reply in one piece. By default it streams and assembles.
    fn complete<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<Collected, ProviderError>> {
        Box::pin(async move { assemble(self.name(), self.stream(request).await?).await })
    }
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
        (**self).stream(request)
    }

    fn complete<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<Collected, ProviderError>> {
        (**self).complete(request)
    }
}
