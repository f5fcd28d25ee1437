//! The `loom` binary from outside: real processes, real files, real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what the tests share fails as a test does"
)]

mod ask;
mod bytes;
mod dialects;
mod grammar;
mod new;
mod plan;
mod provider;
mod replay;
mod signals;
mod store;
mod stuck;
mod support;
mod terminal;
mod usage;
