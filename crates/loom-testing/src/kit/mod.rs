//! Conformance kits: one call in a crate's own test checks what its trait obliges it to.

mod around;
mod authorizer;
mod bounded;
mod call;
mod guard;
mod input_middleware;
mod middleware;
mod output_middleware;
mod play;
mod polls;
mod report;
mod text;
mod texts;
#[cfg(feature = "safety")]
mod validator;

pub use around::{AroundKit, around};
pub use authorizer::{AuthorizerKit, authorizer};
pub use bounded::PATIENCE;
pub use guard::guard;
pub use input_middleware::{InputMiddlewareKit, input_middleware};
pub use middleware::{MiddlewareKit, middleware};
pub use output_middleware::output_middleware;
pub use report::{Check, Fault, Report};
pub use text::TextKit;
#[cfg(feature = "safety")]
pub use validator::validator;
