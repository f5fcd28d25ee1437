//! Conformance kits: one call in a crate's own test checks what its trait obliges it to.

mod bounded;
mod guard;
mod output_middleware;
mod play;
mod polls;
mod report;
mod text;
mod texts;
#[cfg(feature = "safety")]
mod validator;

pub use bounded::PATIENCE;
pub use guard::guard;
pub use output_middleware::output_middleware;
pub use report::{Check, Fault, Report};
pub use text::TextKit;
#[cfg(feature = "safety")]
pub use validator::validator;
