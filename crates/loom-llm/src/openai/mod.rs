//! The OpenAI-compatible chat-completions dialect, as many providers and local servers speak it.

mod decode;
mod encode;
mod wire;

use std::collections::VecDeque;

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};

use crate::chunk::{Collected, LlmChunk};
use crate::error::{MalformedReply, ProviderError, ProviderFault};
use crate::http::{ConfigError, HttpConfig, Reply, Transport};
use crate::provider::{ChunkStream, Provider};
use crate::request::ChatRequest;
use crate::sse::SseDecoder;

use decode::{ChatDecoder, DecodeError, Ended};

/// A provider behind `POST <base URL>/chat/completions`.
#[derive(Debug)]
pub struct OpenAiCompatible {
    transport: Transport,
}

impl OpenAiCompatible {
    /// The provider at the configured base URL, called `name` in errors. No connection is opened yet.
    ///
    /// # Errors
    /// [`ConfigError`] where the base URL or the certificate authorities cannot be used.
    pub fn new(name: &str, config: HttpConfig) -> Result<Self, ConfigError> {
        Ok(Self { transport: Transport::new(name, config, &["chat", "completions"])? })
    }

    async fn post(&self, request: &ChatRequest, streamed: bool) -> Result<Reply, ProviderError> {
        let body = encode::body(request, streamed)
            .map_err(|_| self.transport.peer.error(ProviderFault::Unsendable))?;
        let accept = if streamed { "text/event-stream" } else { "application/json" };
        self.transport.post(body, accept, wire::read_error).await
    }
}

impl Provider for OpenAiCompatible {
    fn name(&self) -> &str {
        &self.transport.peer.provider
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
        Box::pin(async move {
            let reply = self.post(request, true).await?;
            if reply.is_json() {
                // A server without streaming answers in one piece whatever it was asked.
                let chunks = whole_reply(reply).await?;
                return Ok(stream::iter(chunks.into_iter().map(Ok)).boxed());
            }
            let reader = Box::new(Reader::new(reply));
            let chunks = stream::unfold(Some(reader), |reader| async {
                let mut reader = reader?;
                match reader.next().await {
                    Ok(chunk) => Some((Ok(chunk?), Some(reader))),
                    // Without its reader the stream holds no connection, even if it is kept.
                    Err(error) => Some((Err(error), None)),
                }
            });
            Ok(chunks.boxed())
        })
    }

    fn complete<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<Collected, ProviderError>> {
        Box::pin(async move {
            let reply = self.post(request, false).await?;
            let peer = std::sync::Arc::clone(&reply.peer);
            let mut collected = Collected::default();
            for chunk in whole_reply(reply).await? {
                collected.fold(chunk).map_err(|reason| peer.malformed(reason))?;
            }
            Ok(collected)
        })
    }
}

/// Reads a reply that came in one piece.
async fn whole_reply(reply: Reply) -> Result<VecDeque<LlmChunk>, ProviderError> {
    let peer = std::sync::Arc::clone(&reply.peer);
    let body = reply.whole().await?;
    let mut chunks = VecDeque::new();
    let text = std::str::from_utf8(&body).map_err(|_| peer.malformed(MalformedReply::NotTheDialect))?;
    ChatDecoder::new().decode_whole(text, &mut chunks).map_err(|error| error.of(&peer))?;
    Ok(chunks)
}

/// Reads a reply event by event. Dropping it drops the connection.
struct Reader {
    reply: Reply,
    events: SseDecoder,
    decoder: ChatDecoder,
    chunks: VecDeque<LlmChunk>,
    body_ended: bool,
}

impl Reader {
    fn new(reply: Reply) -> Self {
        let (events, decoder) = (SseDecoder::new(), ChatDecoder::new());
        Self { reply, events, decoder, chunks: VecDeque::new(), body_ended: false }
    }

    async fn next(&mut self) -> Result<Option<LlmChunk>, ProviderError> {
        loop {
            if let Some(chunk) = self.chunks.pop_front() {
                return Ok(Some(chunk));
            }
            if self.decoder.ended() == Ended::ByMark {
                return Ok(None);
            }
            let peer = &self.reply.peer;
            let event = self.events.next_event().map_err(|error| peer.malformed(error.into()))?;
            if let Some(event) = event {
                let complete = event.complete;
                let decoded = self.decoder.decode(event.name, event.data, &mut self.chunks);
                match decoded {
                    // A last event that does not parse and that no blank line ended was cut off.
                    Err(DecodeError::Malformed(MalformedReply::NotTheDialect)) if !complete => {
                        return Err(ended_early(&self.reply));
                    }
                    decoded => decoded.map_err(|error| error.of(peer))?,
                }
            } else if !self.body_ended {
                match self.reply.chunk().await? {
                    Some(bytes) => self.events.push(&bytes),
                    None => {
                        self.events.finish();
                        self.body_ended = true;
                    }
                }
            } else if self.decoder.ended() == Ended::NotYet {
                return Err(ended_early(&self.reply));
            } else {
                return Ok(None);
            }
        }
    }
}

fn ended_early(reply: &Reply) -> ProviderError {
    reply.peer.error(ProviderFault::EndedEarly { authority: reply.peer.authority.clone() })
}

impl DecodeError {
    fn of(self, peer: &crate::http::Peer) -> ProviderError {
        match self {
            Self::Malformed(reason) => peer.malformed(reason),
            Self::Reported { remedy, message } => peer
                .error(ProviderFault::Reported { authority: peer.authority.clone(), remedy })
                .with_message(peer.words(message)),
        }
    }
}
