//! Where a provider is, how to reach it, and which of it is refused.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::key::ApiKey;
use crate::tls::{Roots, TlsError};

/// How long a transport waits for its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For a connection, name look-up and TLS included: 10 s.
    pub connect: Duration,
    /// For the first byte of the reply's body, from when the request is handed over: 120 s.
    pub first_byte: Duration,
    /// For each further byte: 60 s. Only the provider's silence counts, not the time the reader takes.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(120), idle: seconds(60) }
    }
}

/// Where a provider is and how to reach it. `Debug` leaves out the URL's query, which may hold a secret.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL before the dialect's own path; a query is kept.
    pub base_url: String,
    /// The key, where the provider wants one.
    pub key: Option<ApiKey>,
    /// The time limits.
    pub timeouts: Timeouts,
    /// The certificate authorities trusted; read only for an `https` base URL.
    pub roots: Roots,
    /// Whether a key may be sent to another machine in the clear.
    pub plain_http: PlainHttp,
}

/// What an `http` base URL with a key may point to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// This machine alone: anywhere else the key would be readable on the way.
    #[default]
    Loopback,
    /// Any machine: the network on the way is trusted.
    Anywhere,
}

impl HttpConfig {
    /// The provider at that URL, without a key, with the default limits and the system's certificate authorities.
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        let (timeouts, roots) = (Timeouts::default(), Roots::default());
        Self { base_url: base_url.into(), key: None, timeouts, roots, plain_http: PlainHttp::default() }
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
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

    /// The same, and says aloud that the key may go to another machine in the clear.
    #[must_use]
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = PlainHttp::Anywhere;
        self
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.base_url.split('?').next();
        f.debug_struct("HttpConfig").field("base_url", &shown).field("key", &self.key).finish_non_exhaustive()
    }
}

/// A provider cannot be configured so. The URL is not repeated: its query may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The base URL cannot be used.
    #[error("expected a base URL as in `https://host/v1`, got something else")]
    BaseUrl,
    /// The base URL carries a user name or a password.
    #[error("expected a base URL without user name and password; hand the key over as a key")]
    Credentials,
    /// A key would go to another machine in the clear.
    #[error(
        "expected `https` for a key that leaves this machine; where the network is trusted, allow plain HTTP aloud"
    )]
    KeyInTheClear,
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The HTTP client refused its settings.
    #[error("the HTTP client cannot be set up with these settings")]
    Client,
}
