//! From the provider's stream into the guarded channel.

use futures::StreamExt;
use loom_effect_runtime::{CallError, Deltas, EffectContext, Stopped, Usage};
use loom_effect_runtime::{DeltaKind, Lane};

use crate::chunk::{Collected, LlmChunk};
use crate::collect::{self, StreamFailure, collect_stream};
use crate::provider::ChunkStream;

/// Reads a reply to its end, every piece through the channel. The second answer is whether the model declined.
///
/// The stream is dropped before this returns, and whenever it is dropped.
pub(super) async fn read(
    provider: &str,
    stream: ChunkStream,
    cx: &EffectContext<'_>,
) -> Result<(Collected, bool), CallError> {
    let deltas = cx.deltas();
    let mut refused = false;
    let mut lanes = Lanes { deltas: &deltas, messages: 0, calls: 0, superseded: 0 };
    let stream = stream.map(|chunk| chunk.map(|chunk| refusal_as_text(chunk, &mut refused)));
    // What judges a piece before it is delivered stands in the channel.
    let guard = |_: &LlmChunk| Ok(());
    let deliver = |chunk: &LlmChunk| {
        lanes.write(chunk)?;
        if let LlmChunk::Usage(usage) = chunk
            && *usage != Usage::default()
        {
            // Reported at once, so that an attempt which fails later, or is dropped, keeps what it spent.
            cx.usage(*usage);
        }
        Ok::<(), Stopped>(())
    };
    let collected = collect_stream(provider, stream, guard, deliver, cx.signal().aborted()).await;
    let collected = collected.map_err(|StreamFailure { error, .. }| match error {
        collect::Stopped::Provider(error) => error.into(),
        collect::Stopped::Refused(stopped) => stopped.into(),
        collect::Stopped::Cancelled(reason) => CallError::aborted(reason),
    })?;
    deltas.end(collected.usage);
    Ok((collected, refused))
}

/// Where pieces are written: one text and one reasoning lane a choice, one lane a tool call. A message that is begun anew
/// has lanes, and so guards, of its own; text it has only where there was none before.
struct Lanes<'d> {
    deltas: &'d Deltas,
    /// Messages that were superseded.
    messages: u32,
    /// Tool calls of a choice seen so far, those that were superseded included.
    calls: usize,
    /// How many of them were.
    superseded: usize,
}

impl Lanes<'_> {
    fn write(&mut self, chunk: &LlmChunk) -> Result<(), Stopped> {
        match chunk {
            LlmChunk::Text { choice, text } | LlmChunk::Refusal { choice, text } => {
                self.deltas.write(Lane::new(DeltaKind::Text, *choice, 0), text)
            }
            LlmChunk::Reasoning { choice, text } => {
                self.deltas.write(Lane::new(DeltaKind::Reasoning, *choice, self.messages), text)
            }
            LlmChunk::ToolArguments { choice, call, arguments, .. } => {
                let lane = self.superseded.saturating_add(*call);
                self.calls = self.calls.max(lane.saturating_add(1));
                let block = u32::try_from(lane).unwrap_or(u32::MAX);
                self.deltas.write(Lane::new(DeltaKind::ToolArguments, *choice, block), arguments)
            }
            LlmChunk::Superseded => {
                self.superseded = self.calls;
                self.messages = self.messages.saturating_add(1);
                Ok(())
            }
            LlmChunk::Usage(_) | LlmChunk::Finish { .. } | LlmChunk::Declined { .. } | LlmChunk::Turn(_) => {
                Ok(())
            }
        }
    }
}

/// A refusal is text of the answer, so that the live text and the content are one text in one order.
fn refusal_as_text(chunk: LlmChunk, refused: &mut bool) -> LlmChunk {
    match chunk {
        LlmChunk::Refusal { choice, text } => {
            *refused |= choice == 0;
            LlmChunk::Text { choice, text }
        }
        chunk => chunk,
    }
}
