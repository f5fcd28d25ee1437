//! Scenarios that cross the crates.
