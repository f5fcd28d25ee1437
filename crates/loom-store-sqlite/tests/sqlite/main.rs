//! The SQLite store on real files: the rules of every store, crashes, and what it refuses.
#![cfg(unix)]

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod scratch;
// The suite lies beside its first store; tests are not packaged, so a path is enough to share it.
#[cfg(test)]
#[path = "../../../loom-workflow/tests/store_conformance/mod.rs"]
mod store_conformance;
