//! Conformance kits: one call in a crate's own test checks what its trait obliges it to.

mod around;
mod authorizer;
mod bounded;
mod call;
mod input_middleware;
mod middleware;
mod play;
mod polls;
mod report;
mod texts;

pub use around::{AroundKit, around};
pub use authorizer::{AuthorizerKit, authorizer};
pub use bounded::PATIENCE;
pub use input_middleware::{InputMiddlewareKit, input_middleware};
pub use middleware::{MiddlewareKit, middleware};
pub use report::{Check, Fault, Report};
