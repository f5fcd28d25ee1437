//! Where a provider is and how to reach it.

use std::fmt;
use std::time::Duration;

use reqwest::Url;

use super::proxy::Proxies;
use crate::key::ApiKey;
use crate::tls::Roots;

/// How long a transport waits for its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For a connection, name look-up, proxy and TLS included: 10 s.
    pub connect: Duration,
    /// For the first byte of the reply's body, from when the request is handed over: 120 s.
    pub first_byte: Duration,
    /// For each further byte: 60 s. Only the provider's silence counts, not the time the reader takes.
    pub idle: Duration,
    /// For the whole reply, streamed or not, from when the request is handed over: 4 h; `None` waits as long as
    /// bytes come. Here the reader's time counts too, but what has already come is still read.
    ///
    /// It is the bound on a peer that drips keep-alives for ever; a program that knows how long its replies take
    /// sets it far lower.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect: seconds(10),
            first_byte: seconds(120),
            idle: seconds(60),
            total: Some(seconds(4 * 3_600)),
        }
    }
}

/// Where a provider is and how to reach it.
///
/// Nothing is checked before a provider is made of it; then [`ConfigError`](super::ConfigError) says what is wrong.
/// `Debug` leaves out whatever may hold a secret: the URL's query, the values of headers and of query parameters.
///
/// A deployment on Azure:
///
/// ```
/// # use loom_llm::{ApiKey, http::HttpConfig};
/// # fn config(key: ApiKey) -> HttpConfig {
/// HttpConfig::new("https://name.openai.azure.com/openai/deployments/model")
///     .with_key(key)
///     .with_key_header("api-key")
///     .with_query("api-version", "2024-10-21")
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL before the dialect's own path; a query is kept, a fragment refused.
    pub base_url: String,
    /// The key, where the provider wants one.
    pub key: Option<ApiKey>,
    /// The header that carries the key, where it is not the dialect's own.
    pub key_header: Option<String>,
    /// Further headers of every request, in order.
    pub headers: Vec<(String, String)>,
    /// Further query parameters of every request, in order.
    pub query: Vec<(String, String)>,
    /// The time limits.
    pub timeouts: Timeouts,
    /// The certificate authorities trusted; read only where TLS is spoken.
    pub roots: Roots,
    /// The way to the provider.
    pub proxies: Proxies,
    /// Whether a key, a header or a query may be sent to another machine in the clear.
    pub plain_http: PlainHttp,
}

/// What an `http` base URL with a key, a query, or a header of the configuration may point to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// This machine alone: anywhere else they would be readable on the way.
    #[default]
    Loopback,
    /// Any machine: the network on the way is trusted.
    Anywhere,
}

impl HttpConfig {
    /// The provider at that URL, without a key, with the default limits, the system's certificate authorities and
    /// the proxies of the environment.
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            key: None,
            key_header: None,
            headers: Vec::new(),
            query: Vec::new(),
            timeouts: Timeouts::default(),
            roots: Roots::default(),
            proxies: Proxies::default(),
            plain_http: PlainHttp::default(),
        }
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The same with another header for the key than the dialect's own: the bare key goes into it, or
    /// `Bearer` and the key where it is `authorization`.
    #[must_use]
    pub fn with_key_header(mut self, name: impl Into<String>) -> Self {
        self.key_header = Some(name.into());
        self
    }

    /// The same with one more header. Its value is treated like the key: never printed, marked as sensitive, not
    /// sent to another machine in the clear, and replaced in the provider's words from
    /// [`SCRUBBED_MIN_BYTES`](crate::key::SCRUBBED_MIN_BYTES) on. A name given twice is sent twice.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same with one more query parameter, which stands before those of the dialect. It is never printed, and like
    /// the base URL's own query not sent to another machine in the clear; a secret nonetheless belongs in the key or a
    /// header, as servers write URLs into their logs.
    #[must_use]
    pub fn with_query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// The same with other time limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The same with other certificate authorities.
    #[must_use]
    pub fn with_roots(mut self, roots: Roots) -> Self {
        self.roots = roots;
        self
    }

    /// The same through that proxy alone, `http://user:password@proxy:3128`, whatever the environment says.
    #[must_use]
    pub fn with_proxy(self, url: impl Into<String>) -> Self {
        self.with_proxies(Proxies::Only(url.into()))
    }

    /// The same with another way to the provider.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// The same, and says aloud that key, headers and query may go to another machine in the clear.
    #[must_use]
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = PlainHttp::Anywhere;
        self
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("base_url", &shown(&self.base_url))
            .field("key", &self.key)
            .field("timeouts", &self.timeouts)
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

/// The URL without what may hold a secret; nothing of one that cannot be read.
fn shown(base_url: &str) -> String {
    let bare = || {
        let mut url = Url::parse(base_url).ok()?;
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
        url.set_query(None);
        url.set_fragment(None);
        Some(String::from(url))
    };
    bare().unwrap_or_else(|| "[redacted]".to_owned())
}
