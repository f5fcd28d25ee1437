//! Redaction in a real runtime: live text, output, references.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code outside a test function"
)]

#[path = "../generate/mod.rs"]
mod generate;
mod live;
mod output;
mod references;
mod reveal;
mod rules;
mod stage;
