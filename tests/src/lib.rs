//! Scenarios that cross the crates of the workspace, and its benchmarks. Nobody depends on this crate.

#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
struct Readme;
