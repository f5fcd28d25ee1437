//! One request and its reply in any dialect: the provider that all of them share.

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};

use super::reply::Reply;
use super::transport::{Outgoing, Transport};
use super::{ConfigError, HttpConfig};
use crate::chunk::{Collected, LlmChunk};
use crate::collect::assemble;
use crate::decoder::{DecodeError, ReplyDecoder};
use crate::dialect::Dialect;
use crate::error::{ProviderError, ProviderFault};
use crate::provider::{ChunkStream, Provider};
use crate::request::ChatRequest;

/// A provider that speaks one dialect over HTTP.
#[derive(Debug)]
pub(crate) struct Exchange<D> {
    transport: Transport,
    pub(crate) dialect: D,
}

impl<D: Dialect> Exchange<D> {
    pub(crate) fn new(name: &str, config: HttpConfig, dialect: D) -> Result<Self, ConfigError> {
        Ok(Self { transport: Transport::new(name, config, D::KEY_HEADER, D::HEADERS)?, dialect })
    }

    async fn post(&self, request: &ChatRequest, streamed: bool) -> Result<Reader, ProviderError> {
        let peer = &self.transport.peer;
        let body = self.dialect.body(request, streamed).map_err(|_| peer.error(ProviderFault::Unsendable))?;
        let accept = if streamed { "text/event-stream" } else { "application/json" };
        let outgoing = Outgoing { route: self.dialect.route(request, streamed), body, accept };
        let reply = self.transport.post(outgoing).await?;
        Ok(Reader { decoder: self.dialect.decoder(&peer.provider), reply })
    }
}

impl<D: Dialect> Provider for Exchange<D> {
    fn name(&self) -> &str {
        &self.transport.peer.provider
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
        Box::pin(async move { Ok(self.post(request, true).await?.into_stream()) })
    }

    fn complete<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<Collected, ProviderError>> {
        Box::pin(async move { assemble(self.name(), self.post(request, false).await?.into_stream()).await })
    }
}

/// Makes a public type a provider by its field `exchange`.
macro_rules! provider_over_http {
    ($name:ident) => {
        impl $crate::provider::Provider for $name {
            fn name(&self) -> &str {
                self.exchange.name()
            }

            fn stream<'a>(
                &'a self,
                request: &'a $crate::request::ChatRequest,
            ) -> ::futures::future::BoxFuture<
                'a,
                Result<$crate::provider::ChunkStream, $crate::error::ProviderError>,
            > {
                self.exchange.stream(request)
            }

            fn complete<'a>(
                &'a self,
                request: &'a $crate::request::ChatRequest,
            ) -> ::futures::future::BoxFuture<
                'a,
                Result<$crate::chunk::Collected, $crate::error::ProviderError>,
            > {
                self.exchange.complete(request)
            }
        }
    };
}
pub(crate) use provider_over_http;

/// Reads a reply piece by piece. Dropping it drops the connection.
struct Reader {
    reply: Reply,
    decoder: ReplyDecoder,
}

impl Reader {
    fn into_stream(self) -> ChunkStream {
        let chunks = stream::unfold(Some(Box::new(self)), |reader| async {
            let mut reader = reader?;
            match reader.next().await {
                Ok(chunk) => Some((Ok(chunk?), Some(reader))),
                // Without its reader the stream holds no connection, even if it is kept.
                Err(error) => Some((Err(error), None)),
            }
        });
        chunks.boxed()
    }

    async fn next(&mut self) -> Result<Option<LlmChunk>, ProviderError> {
        loop {
            if let Some(chunk) = self.decoder.next_chunk().map_err(|error| self.error(error))? {
                return Ok(Some(chunk));
            }
            if self.decoder.is_over() {
                return Ok(None);
            }
            match self.reply.chunk().await? {
                Some(bytes) => self.decoder.push(&bytes),
                None => self.decoder.finish(),
            }
        }
    }

    fn error(&self, error: DecodeError) -> ProviderError {
        let peer = &self.reply.peer;
        let authority = peer.authority.clone();
        match error {
            DecodeError::Malformed(reason) => peer.malformed(reason),
            DecodeError::EndedEarly => peer.error(ProviderFault::EndedEarly { authority }),
            DecodeError::Reported { remedy, message, retry_after } => peer
                .error(ProviderFault::Reported { authority, remedy })
                .with_retry_after(self.reply.retry_after().or(retry_after))
                .with_message(message.map(|message| peer.scrubbed(message))),
        }
    }
}
