//! Scenarios that need more than one crate.

mod journal_bytes;
