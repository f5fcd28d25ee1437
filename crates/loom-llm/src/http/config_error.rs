//! Configurations that are refused.

use thiserror::Error;

use super::headers::EXTRA_HEADERS_MAX;
use crate::tls::TlsError;

/// A provider cannot be configured so. No value of the configuration is repeated: it may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The base URL cannot be used.
    #[error("expected a base URL as in `https://host/v1`, got something else")]
    BaseUrl,
    /// The base URL carries a user name or a password.
    #[error("expected a base URL without user name and password; hand the key over as a key")]
    Credentials,
    /// The base URL has a fragment, which no request carries.
    #[error(
        "expected a base URL without a fragment; leave out the `#` and what follows it, or write it as `%23`"
    )]
    Fragment,
    /// A key, or a header or a query of the configuration, would go to another machine in the clear.
    #[error(
        "expected `https` for a key, a header or a query that leaves this machine; where the network is trusted, allow plain HTTP aloud"
    )]
    KeyInTheClear,
    /// A further header cannot stand in a request.
    #[error(
        "expected a header's name and a value of visible ASCII and single-line text, got something else as header {position} of the configuration"
    )]
    InvalidHeader {
        /// Which of the configuration's headers, counted from 1.
        position: usize,
    },
    /// A further header is one that the transport or the dialect sets.
    #[error("expected no further header `{name}`, which is set for every request; leave it out")]
    ReservedHeader {
        /// The header's name.
        name: &'static str,
    },
    /// A further header has the name of the key's header.
    #[error("expected no further header with the name of the key's header; hand its value over as the key")]
    KeyHeaderTwice,
    /// There are more further headers than fit.
    #[error("expected at most {EXTRA_HEADERS_MAX} further headers, got more")]
    TooManyHeaders,
    /// The key's header cannot carry a key.
    #[error(
        "expected the name of a header for the key, as in `api-key`, got no header's name or one that is set for every request"
    )]
    KeyHeader,
    /// The proxy's URL cannot be used.
    #[error("expected a proxy's URL as in `http://user:password@proxy:3128`, got something else")]
    Proxy,
    /// The environment names a proxy that cannot be used. It is not passed by: the direct way may be closed on
    /// purpose.
    #[error(
        "expected a proxy's URL as in `http://proxy:3128` in the environment's `{variable}`, got something else; correct it or use no proxy"
    )]
    ProxyVariable {
        /// The variable's name.
        variable: &'static str,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The HTTP client refused its settings.
    #[error("the HTTP client cannot be set up with these settings")]
    Client,
}
