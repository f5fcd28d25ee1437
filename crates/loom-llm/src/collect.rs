//! From a stream of chunks to the assembled reply, with every piece judged before it is shown.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use futures::stream::{Stream, StreamExt};
use loom_effect_runtime::Usage;

use crate::chunk::{Collected, LlmChunk};
use crate::error::{MalformedReply, ProviderError, ProviderFault};
use crate::provider::ChunkStream;
use crate::sse::SSE_BODY_MAX_BYTES;

/// Why a stream did not become a reply. `E` is the error of guard and delivery, `R` the reason of the cancel.
#[derive(Debug)]
pub enum Stopped<E, R> {
    /// The provider failed.
    Provider(ProviderError),
    /// The guard or the delivery refused a piece.
    Refused(E),
    /// The caller cancelled; the reason comes back as it was given (D8).
    Cancelled(R),
}

/// A stream that ended without a whole reply, and what had happened by then.
#[derive(Debug)]
#[non_exhaustive]
pub struct StreamFailure<E, R> {
    /// Why it stopped.
    pub error: Stopped<E, R>,
    /// Bytes of model output that had been delivered.
    pub delivered_bytes: u64,
    /// The last usage that the provider had reported; absent where it had reported none.
    pub usage: Option<Usage>,
}

/// Reads a stream to its end: each chunk goes to `guard`, then to `deliver`, then into the reply.
///
/// A chunk that the guard refuses is not delivered (D7). Between chunks, and while the provider is silent, `cancel`
/// is looked at first; it gives the reason. Whatever ends the reading drops the stream, and with it the connection,
/// before this returns.
///
/// # Errors
/// [`StreamFailure`]: the provider failed, a closure refused, the caller cancelled, or the reply exceeds its bounds
/// (32 MiB of model output, [`TOOL_CALLS_MAX`](crate::chunk::TOOL_CALLS_MAX) tool calls).
///
/// # Cancel safety
/// Dropping the future drops the stream; what was delivered stays delivered.
pub async fn collect_stream<E, R>(
    provider: &str,
    stream: impl Stream<Item = Result<LlmChunk, ProviderError>>,
    mut guard: impl FnMut(&LlmChunk) -> Result<(), E>,
    mut deliver: impl FnMut(&LlmChunk) -> Result<(), E>,
    cancel: impl Future<Output = R>,
) -> Result<Collected, StreamFailure<E, R>> {
    let (mut stream, mut cancel) = (pin!(stream), pin!(cancel));
    let mut collected = Collected::default();
    let mut delivered_bytes = 0_u64;
    let malformed =
        |reason| Stopped::Provider(ProviderError::new(provider, ProviderFault::Malformed { reason }));
    let stopped = loop {
        let next = poll_fn(|cx| match cancel.as_mut().poll(cx) {
            Poll::Ready(reason) => Poll::Ready(Err(reason)),
            Poll::Pending => stream.as_mut().poll_next(cx).map(Ok),
        });
        let chunk = match next.await {
            Err(reason) => break Stopped::Cancelled(reason),
            Ok(None) => return Ok(collected),
            Ok(Some(Err(error))) => break Stopped::Provider(error),
            Ok(Some(Ok(chunk))) => chunk,
        };
        let bytes = chunk.content_bytes() as u64;
        if delivered_bytes + bytes > SSE_BODY_MAX_BYTES as u64 {
            break malformed(MalformedReply::TooLarge);
        }
        if let Err(refusal) = guard(&chunk).and_then(|()| deliver(&chunk)) {
            break Stopped::Refused(refusal);
        }
        delivered_bytes += bytes;
        if let Err(reason) = collected.fold(chunk) {
            break malformed(reason);
        }
    };
    let usage = collected.usage;
    let error = match stopped {
        Stopped::Provider(error) => Stopped::Provider(error.with_progress(delivered_bytes, usage)),
        stopped => stopped,
    };
    Err(StreamFailure { error, delivered_bytes, usage })
}

/// Reads a stream of which nothing is shown to its end; an error knows the usage so far.
pub(crate) async fn assemble(provider: &str, mut stream: ChunkStream) -> Result<Collected, ProviderError> {
    let mut collected = Collected::default();
    while let Some(chunk) = stream.next().await {
        let malformed = |reason| ProviderError::new(provider, ProviderFault::Malformed { reason });
        let folded = chunk.and_then(|chunk| collected.fold(chunk).map_err(malformed));
        folded.map_err(|error| error.with_progress(0, collected.usage))?;
    }
    Ok(collected)
}

/// The tokens that a delta of so many bytes counts as: at least one, else a quarter of its bytes, rounded up.
#[must_use]
pub fn token_estimate(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4).max(1)
}
