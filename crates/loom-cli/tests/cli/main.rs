//! The `loom` binary from outside: real processes, real files, real sockets.

mod ask;
mod bytes;
mod grammar;
mod plan;
mod provider;
mod replay;
mod signals;
mod store;
mod support;
mod terminal;
mod usage;
