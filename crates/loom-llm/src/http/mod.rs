//! The transport of all dialects: one POST, one reply, bounds and time limits, and a connection that closes when the
//! reply is dropped.
//!
//! - [`HttpConfig`]: where a provider is and how to reach it; [`ConfigError`] says what is wrong with it.
//! - [`Timeouts`]: for the connection, the first byte, each further byte and the whole reply.
//! - [`Proxies`]: the environment's, none, or one that the program names.
//!
//! Nothing is followed (no redirects), repeated (no retries by the client), decompressed or read beyond its bound.
//!
//! ```text
//! exchange  request -> dialect -> transport -> reply -> decoder -> chunks
//! transport the client of one provider      patience  how long it waits
//! reply     head and body of one answer     peer      whom errors speak of
//! headers   what every request carries      failure   what the client's errors mean
//! ```

mod config;
mod config_error;
mod exchange;
mod failure;
mod headers;
mod patience;
mod peer;
mod proxy;
mod reply;
mod transport;

use std::net::IpAddr;

pub use config::{HttpConfig, PlainHttp, Timeouts};
pub use config_error::ConfigError;
pub(crate) use exchange::{Exchange, provider_over_http};
pub use failure::REPLY_HEADERS_MAX;
pub use headers::EXTRA_HEADERS_MAX;
pub use proxy::Proxies;
pub use reply::ERROR_BODY_MAX_BYTES;

/// Whether what goes to the host stays on this machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
