//! What the HTTP client's errors mean.

use std::error::Error;
use std::io;

use crate::error::{MalformedReply, ProxyFailure};

/// The most headers that a reply may have; its trailers are held to the client's own bounds.
pub const REPLY_HEADERS_MAX: usize = 100;

/// The kinds of errors.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// There was no connection within the time for one.
    ConnectTimeout,
    /// A TLS check failed.
    Tls(&'static str),
    /// There was no connection, be it to the provider or to the proxy on the way to it.
    NoConnection(ProxyFailure),
    /// What came is no HTTP.
    Malformed(MalformedReply),
    /// The connection broke.
    Disconnected,
}

/// The meaning of an error.
pub(super) fn of(error: &reqwest::Error, through_proxy: bool) -> Failure {
    if error.is_connect() {
        if error.is_timeout() {
            return Failure::ConnectTimeout;
        }
        return match io_errors(error).find_map(tls_error) {
            Some(tls) => Failure::Tls(untrusted(tls)),
            None => Failure::NoConnection(connect_failure(error, through_proxy)),
        };
    }
    let mut http = causes(error).filter_map(|cause| cause.downcast_ref::<hyper::Error>());
    // The framing of a body is read as I/O.
    let framing = |kind| matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    let misframed = io_errors(error).any(|error| error.raw_os_error().is_none() && framing(error.kind()));
    if misframed || http.any(hyper::Error::is_parse) {
        Failure::Malformed(MalformedReply::NotHttp)
    } else {
        Failure::Disconnected
    }
}

/// The errors below an error, outermost first.
fn causes<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

fn io_errors(error: &reqwest::Error) -> impl Iterator<Item = &io::Error> {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>())
}

/// The TLS error in an I/O error, which may be wrapped in others that do not name it as their source.
fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    let inner = error.get_ref()?;
    inner.downcast_ref().or_else(|| tls_error(inner.downcast_ref()?))
}

/// The check that failed.
fn untrusted(error: &rustls::Error) -> &'static str {
    use rustls::{CertificateError as Certificate, Error as Tls};
    match error {
        Tls::InvalidCertificate(certificate) => match certificate {
            Certificate::Expired | Certificate::ExpiredContext { .. } => "its certificate has expired",
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                "its certificate is not valid yet; check this machine's clock"
            }
            Certificate::UnknownIssuer => {
                "its certificate comes from an authority that is not trusted here; add that authority where it is yours"
            }
            Certificate::BadSignature => {
                "its certificate is not signed by the authority that it names, of which another is trusted here"
            }
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            _ => "its certificate was not accepted",
        },
        Tls::InvalidMessage(_) => {
            "it does not speak TLS; check whether the base URL should start with `http:`"
        }
        _ => "the handshake failed",
    }
}

/// Why there is no connection.
fn connect_failure(error: &reqwest::Error, through_proxy: bool) -> ProxyFailure {
    match io_errors(error).last() {
        // A failed look-up is the one failure here that carries no number of the system.
        Some(error) if error.raw_os_error().is_none() => ProxyFailure::Unreachable(io::ErrorKind::NotFound),
        Some(error) => ProxyFailure::Unreachable(error.kind()),
        None if !through_proxy => ProxyFailure::Unreachable(io::ErrorKind::Other),
        // The client tells the two apart by its words alone.
        None if causes(error).any(|cause| cause.to_string().contains("authorization required")) => {
            ProxyFailure::Credentials
        }
        None => ProxyFailure::Refused,
    }
}
