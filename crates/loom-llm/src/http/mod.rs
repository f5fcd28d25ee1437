//! The transport of all dialects: one POST, one reply, bounds and time limits, and a connection that closes when the
//! reply is dropped.

mod config;

use std::error::Error as _;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use loom_classify::{TaintOrigin, Tainted};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, Response, Url, redirect, retry};
use tokio::time::{Instant, timeout};

use crate::error::{Awaited, MalformedReply, ProviderError, ProviderFault, Remedy, status_remedy};
use crate::key::ApiKey;
use crate::retry_after::retry_after;
use crate::sse::SSE_BODY_MAX_BYTES;
use crate::tls;

pub use config::{ConfigError, HttpConfig, PlainHttp, Timeouts};

/// The most bytes read of the body of an error reply; the rest is not waited for.
pub const ERROR_BODY_MAX_BYTES: usize = 64 << 10;

/// What a dialect reads out of an error body: the provider's words, and what they let the caller do.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) message: Option<String>,
    pub(crate) remedy: Option<Remedy>,
}

/// Whom errors speak of.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) provider: String,
    pub(crate) authority: String,
    key: Option<ApiKey>,
}

impl Peer {
    pub(crate) fn malformed(&self, reason: MalformedReply) -> ProviderError {
        self.error(ProviderFault::Malformed { reason })
    }

    pub(crate) fn error(&self, fault: ProviderFault) -> ProviderError {
        ProviderError::new(&self.provider, fault)
    }

    /// The provider's own words, tainted, without the key should it repeat it.
    pub(crate) fn words(&self, text: Option<String>) -> Option<Tainted<String>> {
        let text = match &self.key {
            Some(key) => key.scrub(text?),
            None => text?,
        };
        Some(Tainted::new(text, TaintOrigin::llm(&self.provider)))
    }

    fn silent(&self, awaited: Awaited, limit: Duration) -> ProviderError {
        self.error(ProviderFault::Silent { authority: self.authority.clone(), awaited, limit })
    }

    fn broken(&self, error: &reqwest::Error, connect: Duration) -> ProviderError {
        let authority = self.authority.clone();
        if !error.is_connect() {
            return self.error(ProviderFault::Disconnected { authority });
        }
        if error.is_timeout() {
            return self.silent(Awaited::Connection, connect);
        }
        self.error(match untrusted(error) {
            Some(reason) => ProviderFault::Untrusted { authority, reason },
            None => ProviderFault::Unreachable { authority, kind: connect_failure(error) },
        })
    }
}

/// A client of one endpoint.
pub(crate) struct Transport {
    client: Client,
    endpoint: Url,
    timeouts: Timeouts,
    pub(crate) peer: Arc<Peer>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Transport {
    /// A client of `path` under the base URL. It opens no connection yet.
    pub(crate) fn new(provider: &str, config: HttpConfig, path: &[&str]) -> Result<Self, ConfigError> {
        let HttpConfig { base_url, key, timeouts, roots, plain_http } = config;
        let mut endpoint = Url::parse(&base_url).map_err(|_| ConfigError::BaseUrl)?;
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            return Err(ConfigError::Credentials);
        }
        let tls = match endpoint.scheme() {
            "https" => tls::client_config(&roots)?,
            "http" => tls::trusting_nobody()?,
            _ => return Err(ConfigError::BaseUrl),
        };
        endpoint.set_fragment(None);
        endpoint.path_segments_mut().map_err(|()| ConfigError::BaseUrl)?.pop_if_empty().extend(path);
        let host = endpoint.host_str().ok_or(ConfigError::BaseUrl)?;
        let port = endpoint.port_or_known_default().ok_or(ConfigError::BaseUrl)?;
        let in_the_clear = endpoint.scheme() == "http" && key.is_some() && !is_loopback(host);
        if in_the_clear && plain_http == PlainHttp::Loopback {
            return Err(ConfigError::KeyInTheClear);
        }
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .http1_only()
            .connect_timeout(timeouts.connect)
            .user_agent(concat!("loom-llm/", env!("CARGO_PKG_VERSION")));
        if is_loopback(host) {
            // A proxy set for the world must not see what stays on this machine.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|_| ConfigError::Client)?;
        let peer = Peer { provider: provider.to_owned(), authority: format!("{host}:{port}"), key };
        Ok(Self { client, endpoint, timeouts, peer: Arc::new(peer) })
    }

    /// Sends a JSON body and waits for a reply with a status of success.
    ///
    /// `read` turns the body of an error reply, cut at [`ERROR_BODY_MAX_BYTES`], into what it says.
    pub(crate) async fn post(
        &self,
        body: Vec<u8>,
        accept: &'static str,
        read: fn(&[u8]) -> Told,
    ) -> Result<Reply, ProviderError> {
        let peer = &self.peer;
        let mut request = self.client.post(self.endpoint.clone()).body(body);
        request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, accept);
        if let Some(bearer) = peer.key.as_ref().and_then(ApiKey::bearer) {
            request = request.header(AUTHORIZATION, bearer);
        }
        let Timeouts { connect, first_byte, idle } = self.timeouts;
        let sent = Instant::now();
        let response = timeout(first_byte, request.send())
            .await
            .map_err(|_| peer.silent(Awaited::FirstByte, first_byte))?
            .map_err(|error| peer.broken(&error, connect))?;
        let first_byte = first_byte.saturating_sub(sent.elapsed()).max(idle);
        let reply = Reply { response, peer: Arc::clone(peer), first_byte: Some(first_byte), idle };
        match reply.response.status().as_u16() {
            200..=299 if reply.is(CONTENT_TYPE.as_str(), "text/html") => {
                Err(peer.malformed(MalformedReply::Html))
            }
            200..=299 if reply.is_encoded() => Err(peer.malformed(MalformedReply::Encoded)),
            200..=299 => Ok(reply),
            status @ 300..=399 => {
                Err(peer.error(ProviderFault::Redirected { authority: peer.authority.clone(), status }))
            }
            status => Err(reply.into_error(status, read).await),
        }
    }
}

/// A reply whose head has come. Dropping it closes the connection, unless its body has been read to the end.
#[derive(Debug)]
pub(crate) struct Reply {
    response: Response,
    pub(crate) peer: Arc<Peer>,
    /// The limit for the first byte of the body, until it has come.
    first_byte: Option<Duration>,
    idle: Duration,
}

impl Reply {
    pub(crate) fn is_json(&self) -> bool {
        self.is(CONTENT_TYPE.as_str(), "application/json")
    }

    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let (awaited, limit) =
            self.first_byte.map_or((Awaited::NextByte, self.idle), |limit| (Awaited::FirstByte, limit));
        // The timer starts with the read, so a slow reader never counts as a silent provider.
        match timeout(limit, self.response.chunk()).await {
            Err(_) => Err(self.peer.silent(awaited, limit)),
            Ok(Err(_)) => {
                Err(self.peer.error(ProviderFault::Disconnected { authority: self.peer.authority.clone() }))
            }
            Ok(Ok(chunk)) => {
                self.first_byte = None;
                Ok(chunk)
            }
        }
    }

    /// The whole body.
    pub(crate) async fn whole(mut self) -> Result<Vec<u8>, ProviderError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > SSE_BODY_MAX_BYTES {
                return Err(self.peer.malformed(MalformedReply::TooLarge));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The error that an error status means. Its body is read up to a bound of bytes and time; what came counts.
    async fn into_error(mut self, status: u16, read: fn(&[u8]) -> Told) -> ProviderError {
        let delay = retry_after(self.response.headers(), SystemTime::now());
        let mut body = Vec::new();
        let limit = self.idle;
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
        let _ = timeout(limit, reading).await;
        let told = read(&body);
        // What a status gives up on, no name in the body brings back: a wrong key is often called a wrong request.
        let remedy = match status_remedy(status) {
            Remedy::GiveUp => Remedy::GiveUp,
            by_status => told.remedy.unwrap_or(by_status),
        };
        let fault = ProviderFault::Status { authority: self.peer.authority.clone(), status, remedy };
        self.peer.error(fault).with_retry_after(delay).with_message(self.peer.words(told.message))
    }

    fn is(&self, header: &str, media_type: &str) -> bool {
        let value = self.response.headers().get(header).and_then(|value| value.to_str().ok());
        let essence = value.and_then(|value| value.split(';').next()).map(str::trim);
        essence.is_some_and(|essence| essence.eq_ignore_ascii_case(media_type))
    }

    fn is_encoded(&self) -> bool {
        self.response.headers().contains_key(CONTENT_ENCODING)
            && !self.is(CONTENT_ENCODING.as_str(), "identity")
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The I/O errors below an HTTP error, outermost first.
fn io_errors(error: &reqwest::Error) -> impl Iterator<Item = &io::Error> {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>())
}

/// The check that failed where the cause is TLS.
fn untrusted(error: &reqwest::Error) -> Option<&'static str> {
    use rustls::{CertificateError, Error as Tls};
    let inner = io_errors(error).find_map(tls_error)?;
    Some(match inner {
        Tls::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Tls::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate comes from an authority that is not trusted here"
        }
        Tls::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another name",
        Tls::InvalidCertificate(_) => "its certificate was not accepted",
        Tls::InvalidMessage(_) => {
            "it does not speak TLS; check whether the base URL should start with `http:`"
        }
        _ => "the handshake failed",
    })
}

/// The TLS error in an I/O error, which may be wrapped in others that do not name it as their source.
fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    let inner = error.get_ref()?;
    inner.downcast_ref().or_else(|| tls_error(inner.downcast_ref()?))
}

/// The system's reason why there is no connection.
fn connect_failure(error: &reqwest::Error) -> io::ErrorKind {
    match io_errors(error).last() {
        // A failed look-up is the one failure here that carries no number of the system.
        Some(error) if error.raw_os_error().is_none() => io::ErrorKind::NotFound,
        Some(error) => error.kind(),
        None => io::ErrorKind::Other,
    }
}
