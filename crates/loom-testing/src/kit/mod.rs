//! Conformance kits: one call in a crate's own test checks what its trait obliges it to.

mod around;
mod bounded;
mod call;
mod play;
mod polls;
mod report;
mod texts;

pub use around::{AroundKit, around};
pub use bounded::PATIENCE;
pub use report::{Check, Fault, Report};
