//! Scenarios that need more than one crate.

#![cfg(test)]

mod journal_bytes;
