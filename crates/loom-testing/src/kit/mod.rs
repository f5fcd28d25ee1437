//! Conformance kits: one call in a crate's own test checks what its trait obliges it to.

mod bounded;
mod play;
mod polls;
mod report;
mod texts;

pub use bounded::PATIENCE;
pub use report::{Check, Fault, Report};
