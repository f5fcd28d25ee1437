//! One reply: its head, and its body as it comes.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use loom_classify::{TaintOrigin, Tainted};
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, TRANSFER_ENCODING};

use super::Timeouts;
use super::patience::Patience;
use super::peer::Peer;
use crate::dialect::read_error;
use crate::error::{Awaited, MalformedReply, ProviderError, ProviderFault, Remedy, status_remedy};
use crate::retry_after::retry_after;

/// The most bytes read of the body of an error reply; the rest is not waited for.
pub const ERROR_BODY_MAX_BYTES: usize = 64 << 10;

/// A reply whose head has come. Dropping it closes the connection, unless its body has been read to the end.
#[derive(Debug)]
pub(crate) struct Reply {
    response: Response,
    pub(crate) peer: Arc<Peer>,
    patience: Patience,
    timeouts: Timeouts,
    /// The limit for the first byte of the body, until it has come.
    first_byte: Option<Duration>,
}

impl Reply {
    pub(super) fn new(response: Response, peer: Arc<Peer>, patience: Patience, timeouts: Timeouts) -> Self {
        let first_byte = timeouts.first_byte.saturating_sub(patience.elapsed());
        Self { response, peer, patience, timeouts, first_byte: Some(first_byte) }
    }

    /// The reply, if its head is one of a success; else the error that it means.
    pub(super) async fn accepted(self) -> Result<Self, ProviderError> {
        match self.response.status().as_u16() {
            200..=299 if self.is_web_page() => Err(self.peer.malformed(MalformedReply::Html)),
            200..=299 if self.is_encoded() => Err(self.peer.malformed(MalformedReply::Encoded)),
            200..=299 => Ok(self),
            status @ 300..=399 => {
                let authority = self.peer.authority.clone();
                Err(self.peer.error(ProviderFault::Redirected { authority, status }))
            }
            status => Err(self.into_error(status).await),
        }
    }

    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let idle = (Awaited::NextByte, self.timeouts.idle);
        let (awaited, limit) = self.first_byte.map_or(idle, |limit| (Awaited::FirstByte, limit));
        // The timer starts with the read, so a slow reader never counts as a silent provider.
        match self.patience.wait(awaited, limit, self.response.chunk()).await {
            Err((Awaited::FirstByte, _)) => {
                Err(self.peer.silent((Awaited::FirstByte, self.timeouts.first_byte)))
            }
            Err(exhausted) => Err(self.peer.silent(exhausted)),
            Ok(Err(error)) => Err(self.peer.broken(&error, self.timeouts.connect)),
            Ok(Ok(chunk)) => {
                self.first_byte = None;
                Ok(chunk)
            }
        }
    }

    /// How long the provider asks in its head to be left alone, from now on.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        retry_after(self.response.headers(), SystemTime::now())
    }

    /// The error that an error status means. Its body is read up to a bound of bytes and time; what came counts.
    async fn into_error(mut self, status: u16) -> ProviderError {
        let delay = self.retry_after();
        let told = read_error(&self.error_body().await);
        let delay = delay.or(told.retry_after);
        // What a status gives up on, no name in the body brings back: a wrong key is often called a wrong request.
        let remedy = match status_remedy(status) {
            Remedy::GiveUp => Remedy::GiveUp,
            by_status => told.remedy.unwrap_or(by_status),
        };
        let fault = ProviderFault::Status { authority: self.peer.authority.clone(), status, remedy };
        let words = told.message.map(|text| Tainted::new(text, TaintOrigin::llm(&self.peer.provider)));
        self.peer
            .error(fault)
            .with_retry_after(delay)
            .with_message(words.map(|words| self.peer.scrubbed(words)))
    }

    async fn error_body(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        if self.is_encoded() {
            return body;
        }
        let limit = self.timeouts.idle;
        let reading = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                let room = ERROR_BODY_MAX_BYTES.saturating_sub(body.len());
                body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
                if body.len() >= ERROR_BODY_MAX_BYTES {
                    break;
                }
            }
        };
        // Silence here hides nothing: the status alone already is the error.
        let _ = tokio::time::timeout(limit, reading).await;
        body
    }

    fn is_web_page(&self) -> bool {
        self.response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|value| tokens(value.as_bytes(), b';').next().is_some_and(|t| is(t, "text/html")))
    }

    /// Whether the body is anything but its own bytes, of which `chunked` tells only the length.
    fn is_encoded(&self) -> bool {
        let headers = self.response.headers();
        let mut codings = headers.get_all(CONTENT_ENCODING).iter().chain(headers.get_all(TRANSFER_ENCODING));
        codings.any(|value| {
            tokens(value.as_bytes(), b',').any(|coding| !is(coding, "identity") && !is(coding, "chunked"))
        })
    }
}

/// The parts of a header's value.
fn tokens(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    value.split(move |byte| *byte == separator).map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

fn is(token: &[u8], word: &str) -> bool {
    token.eq_ignore_ascii_case(word.as_bytes())
}
