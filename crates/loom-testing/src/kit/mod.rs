//! Conformance kits: one call in a crate's own test checks what its trait obliges it to.

mod around;
mod authorizer;
mod bounded;
mod call;
mod counted;
mod effect;
mod guard;
mod input_middleware;
mod middleware;
mod output_middleware;
mod play;
mod polls;
mod report;
mod sink;
mod text;
mod texts;
#[cfg(feature = "safety")]
mod validator;

pub use around::{AroundKit, around};
pub use authorizer::{AuthorizerKit, authorizer};
pub use bounded::PATIENCE;
pub use effect::{EffectKit, effect};
pub use guard::guard;
pub use input_middleware::{InputMiddlewareKit, input_middleware};
pub use middleware::{MiddlewareKit, middleware};
pub use output_middleware::output_middleware;
pub use report::{Check, Fault, Report};
pub use sink::{SinkKit, sink};
pub use text::TextKit;
#[cfg(feature = "safety")]
pub use validator::validator;

/// The ids of the tools that the kits of calls ask for, for a subject that has to be told of tools by name.
pub const TOOLS: [&str; 3] = [call::probe::TOOL, call::probe::OTHER_TOOL, call::probe::TYPED_TOOL];
