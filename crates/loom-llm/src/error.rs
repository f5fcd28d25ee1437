//! What can go wrong with a provider, typed by what the caller can do about it.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use loom_classify::Tainted;
use loom_effect_runtime::{CallError, ErrorName, RetryAdvice, Usage};
use thiserror::Error;

use crate::chunk::TOOL_CALLS_MAX;
use crate::sse::SseError;

/// A request to a provider failed.
///
/// `Display` says what happened and what to do next. It never holds the provider's words (they are kept as
/// [`message`](Self::message), tainted), the key, or the query of the URL.
#[derive(Debug)]
pub struct ProviderError {
    // Boxed so that the error path does not widen every chunk.
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    provider: String,
    fault: ProviderFault,
    retry_after: Option<Duration>,
    message: Option<Tainted<String>>,
    delivered_bytes: u64,
    usage: Option<Usage>,
}

/// What the caller can do about a [`ProviderError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Send the request again, no sooner than the provider asked.
    RetryAfter(Duration),
    /// Send the request again, after a delay of the caller's choice.
    Retry,
    /// Change the request, the model or the base URL; the same request will fail again.
    FixRequest,
    /// Nothing the request can do: the key, the account or the provider itself has to change.
    GiveUp,
}

/// What happened, without a word of what came over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProviderFault {
    /// No connection came about.
    #[error("no connection to {authority}: {}; start the server there or change the base URL", Plain(.kind))]
    Unreachable {
        /// Host and port.
        authority: String,
        /// What the system said; `NotFound` where the host's name cannot be resolved.
        kind: io::ErrorKind,
    },
    /// The proxy on the way to the provider gave no connection.
    #[error("no connection to {authority} through the proxy {proxy}: {failure}")]
    ProxyFailed {
        /// Host and port of the provider.
        authority: String,
        /// Host and port of the proxy.
        proxy: String,
        /// What failed.
        failure: ProxyFailure,
    },
    /// The TLS handshake failed.
    #[error("no trusted TLS connection to {authority}: {reason}")]
    Untrusted {
        /// Host and port.
        authority: String,
        /// Which check failed.
        reason: &'static str,
    },
    /// The provider was silent, or took, for too long.
    #[error("waited {} s for {awaited} from {authority}, then hung up", .limit.as_secs_f32())]
    Silent {
        /// Host and port.
        authority: String,
        /// What was waited for.
        awaited: Awaited,
        /// For how long.
        limit: Duration,
    },
    /// The connection broke before the reply was whole.
    #[error("{authority} closed the connection before its reply was whole")]
    Disconnected {
        /// Host and port.
        authority: String,
    },
    /// The stream ended without a finish reason and without its end mark.
    #[error("{authority} ended the stream without saying that the reply was whole")]
    EndedEarly {
        /// Host and port.
        authority: String,
    },
    /// The provider answered with an error status.
    #[error("{authority} answered with status {status}: {}", advice(*.status, *.remedy))]
    Status {
        /// Host and port.
        authority: String,
        /// The HTTP status.
        status: u16,
        /// What the status, or the error's code in the body, lets the caller do.
        remedy: Remedy,
    },
    /// The provider answered with a redirect, which is not followed: the key would go with it.
    #[error(
        "{authority} answered with redirect {status}, and the key is not sent elsewhere; set the base URL to the final address"
    )]
    Redirected {
        /// Host and port.
        authority: String,
        /// The HTTP status.
        status: u16,
    },
    /// The provider accepted the request and then reported an error inside its reply.
    #[error(
        "{authority} reported an error inside its reply; its own message is kept apart, as it is not trusted"
    )]
    Reported {
        /// Host and port.
        authority: String,
        /// What the error's code or type lets the caller do.
        remedy: Remedy,
    },
    /// The request cannot be written in the provider's dialect.
    #[error("the request cannot be written in the provider's dialect")]
    Unsendable,
    /// The provider has no streamed replies. It has sent nothing.
    #[error("it has no streamed replies; ask for the reply in one piece")]
    CannotStream,
    /// The reply is not what the dialect says.
    #[error("its reply cannot be read: {reason}")]
    Malformed {
        /// What was expected.
        reason: MalformedReply,
    },
}

/// What a silent provider owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// An open connection.
    Connection,
    /// The first byte of the reply.
    FirstByte,
    /// A further byte of the reply.
    NextByte,
    /// The end of the reply, however much of it has come.
    WholeReply,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "a connection",
            Self::FirstByte => "the first byte",
            Self::NextByte => "the next byte",
            Self::WholeReply => "the whole reply",
        })
    }
}

/// Why a proxy gives no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProxyFailure {
    /// The proxy itself cannot be reached.
    #[error("{}; start the proxy, or correct its URL", Plain(.0))]
    Unreachable(io::ErrorKind),
    /// It wants to know who asks.
    #[error("it wants a user name and a password; put them into its URL")]
    Credentials,
    /// It does not connect to the provider, or is no proxy.
    #[error("it refused the connection; check that it is a proxy and which hosts it allows")]
    Refused,
}

impl ProxyFailure {
    /// What the system said, where it did.
    #[must_use]
    pub fn kind(self) -> io::ErrorKind {
        match self {
            Self::Unreachable(kind) => kind,
            Self::Credentials | Self::Refused => io::ErrorKind::Other,
        }
    }
}

/// The most JSON values that a [`ProviderTurn`](crate::ProviderTurn) keeps unread, each part with four on top. The bytes
/// of their text are bounded with the body's.
pub const TURN_VALUES_MAX: usize = 1 << 17;

/// Why a reply cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MalformedReply {
    /// The event stream itself is broken.
    #[error(transparent)]
    Sse(#[from] SseError),
    /// An event or a body is not a JSON object with the fields of the dialect.
    #[error("expected a JSON object of the provider's dialect")]
    NotTheDialect,
    /// What came is no HTTP, breaks its framing, or has more headers than fit.
    #[error(
        "expected an HTTP/1.1 reply with at most {} headers, got something else; check the base URL's scheme and port",
        crate::http::REPLY_HEADERS_MAX
    )]
    NotHttp,
    /// The body is a web page.
    #[error("expected an event stream or JSON, got HTML; check that the base URL is the API's")]
    Html,
    /// The body is compressed although that was not asked for.
    #[error("expected a body without content encoding")]
    Encoded,
    /// The reply is larger than its bound.
    #[error("expected a reply of at most {} bytes, got a larger one", crate::sse::SSE_BODY_MAX_BYTES)]
    TooLarge,
    /// A second message began in the stream after text of the first had been sent.
    #[error("expected one message in the stream, got a second one after text of the first")]
    Spliced,
    /// An event or a body holds too many JSON values.
    #[error(
        "expected at most {} JSON values in one event or body, got more",
        crate::decoder::JSON_VALUES_MAX
    )]
    TooManyValues,
    /// The parts that a provider wants back unread are too large.
    #[error("expected parts to send back of at most {TURN_VALUES_MAX} JSON values in one reply, got more")]
    TurnTooLarge,
    /// The reply opens too many tool calls.
    #[error("expected at most {TOOL_CALLS_MAX} tool calls in one reply, got more")]
    TooManyToolCalls,
}

impl ProviderError {
    /// An error of the named provider.
    #[must_use]
    pub fn new(provider: impl Into<String>, fault: ProviderFault) -> Self {
        let (retry_after, message, usage) = (None, None, None);
        let inner =
            Inner { provider: provider.into(), fault, retry_after, message, delivered_bytes: 0, usage };
        Self { inner: Box::new(inner) }
    }

    /// The same with the delay that the provider asked for.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Option<Duration>) -> Self {
        self.inner.retry_after = delay;
        self
    }

    /// The same with the provider's own message, which stays tainted.
    #[must_use]
    pub fn with_message(mut self, message: Option<Tainted<String>>) -> Self {
        self.inner.message = message;
        self
    }

    /// The same with what had come of the reply by then.
    #[must_use]
    pub fn with_progress(mut self, delivered_bytes: u64, usage: Option<Usage>) -> Self {
        self.inner.delivered_bytes = delivered_bytes;
        self.inner.usage = usage;
        self
    }

    /// The provider's error behind a failed call, where there is one.
    #[must_use]
    pub fn behind(error: &CallError) -> Option<&Self> {
        error.source()?.downcast_ref()
    }

    /// What happened.
    #[must_use]
    pub fn fault(&self) -> &ProviderFault {
        &self.inner.fault
    }

    /// The provider's own message: untrusted text, for whoever unwraps it in the open.
    #[must_use]
    pub fn message(&self) -> Option<&Tainted<String>> {
        self.inner.message.as_ref()
    }

    /// Bytes of model output that had been delivered before the reply broke; 0 where it never began.
    #[must_use]
    pub fn delivered_bytes(&self) -> u64 {
        self.inner.delivered_bytes
    }

    /// The last usage that the provider had reported before the reply broke; absent where it had reported none.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.inner.usage
    }

    /// What the caller can do.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        let remedy = match &self.inner.fault {
            ProviderFault::Unreachable { .. }
            | ProviderFault::Silent { .. }
            | ProviderFault::Disconnected { .. }
            | ProviderFault::EndedEarly { .. }
            | ProviderFault::ProxyFailed { failure: ProxyFailure::Unreachable(_), .. }
            | ProviderFault::Malformed { reason: MalformedReply::Spliced } => Remedy::Retry,
            ProviderFault::Redirected { .. }
            | ProviderFault::Unsendable
            | ProviderFault::CannotStream
            | ProviderFault::Malformed { reason: MalformedReply::Html | MalformedReply::NotHttp } => {
                Remedy::FixRequest
            }
            ProviderFault::Untrusted { .. }
            | ProviderFault::ProxyFailed { .. }
            | ProviderFault::Malformed { .. } => Remedy::GiveUp,
            ProviderFault::Reported { remedy, .. } | ProviderFault::Status { remedy, .. } => *remedy,
        };
        match (remedy, self.inner.retry_after) {
            (Remedy::Retry, Some(delay)) => Remedy::RetryAfter(delay),
            _ => remedy,
        }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "provider `{}`: {}", self.inner.provider, self.inner.fault)
    }
}

impl Error for ProviderError {}

impl From<ProviderError> for CallError {
    /// A failure named `ProviderError` whose message is the error's own, which holds no word from the wire, and whose
    /// retry advice is the remedy; the error itself is its source, see [`ProviderError::behind`].
    fn from(error: ProviderError) -> Self {
        let advice = match error.remedy() {
            Remedy::RetryAfter(delay) => RetryAdvice::After(delay),
            Remedy::Retry => RetryAdvice::Retry,
            Remedy::FixRequest | Remedy::GiveUp => RetryAdvice::Never,
        };
        Self::with_source(ErrorName::Provider, error.to_string(), error).with_advice(advice)
    }
}

/// What a status lets the caller do.
pub(crate) fn status_remedy(status: u16) -> Remedy {
    match status {
        408 | 409 | 425 | 429 => Remedy::Retry,
        401..=403 | 407 => Remedy::GiveUp,
        400..=499 => Remedy::FixRequest,
        501 | 505 => Remedy::GiveUp,
        _ => Remedy::Retry,
    }
}

fn advice(status: u16, remedy: Remedy) -> &'static str {
    match (remedy, status) {
        (Remedy::Retry | Remedy::RetryAfter(_), _) => "send the request again later",
        (Remedy::GiveUp, 401 | 403) => "check the key and what it may use",
        (Remedy::GiveUp, 407) => "put the proxy's user name and password into its URL",
        (Remedy::GiveUp, 402 | 429) => "check the account's balance and limits",
        (Remedy::GiveUp, _) => "this provider cannot serve it",
        (Remedy::FixRequest, 404) => "check the base URL and the model's name",
        (Remedy::FixRequest, 413) => "send a shorter request",
        (Remedy::FixRequest, _) => "change the request",
    }
}

/// The system's reason in words that need no manual.
struct Plain<'a>(&'a io::ErrorKind);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            io::ErrorKind::ConnectionRefused => f.write_str("nothing listens (connection refused)"),
            io::ErrorKind::NotFound => f.write_str("the host's name cannot be resolved"),
            kind => write!(f, "{kind}"),
        }
    }
}
