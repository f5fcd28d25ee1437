//! The hooks that third parties write.
//!
//! Four traits, told apart by what they are handed. [`Middleware`] reads input and facts; [`InputMiddleware`]
//! rewrites input; [`OutputMiddleware`] is the only one handed output and live text; [`Around`] is handed proofs.

mod around;
mod authorizer;
mod closures;
mod forward;
mod middleware;

use std::time::Duration;

use futures::future::BoxFuture;

pub use around::{Around, Kept, Next, Opaque, Running};
pub(crate) use around::{Begun, KeptInner, Rooms};
pub(crate) use authorizer::AllowAll;
pub use authorizer::Authorizer;
pub use closures::{AfterFn, AroundFn, AuthorizeFn, BeforeFn, BeforeWaitFn, InspectFn, RewriteFn};
pub use closures::{after, around, authorize, before, before_wait, inspect, rewrite};
pub use middleware::{InputMiddleware, Middleware, OutputMiddleware};

use crate::error::Refusal;
use crate::names::ErrorName;

/// How long a waiting step may take unless its hook says otherwise.
pub const WAIT_DEADLINE_DEFAULT: Duration = Duration::from_secs(5);

/// A hook's answer.
#[must_use]
#[derive(Debug)]
pub enum Step {
    /// Go on.
    Go,
    /// Refuse the call; nothing retries a refusal.
    Deny(Refusal),
    /// The hook truly has to wait: the runtime asks its `*_wait` twin, under a deadline.
    Wait,
}

/// A waiting step: `Ok` goes on, `Err` refuses. Dropped at its deadline, on abort and when the caller drops the
/// call.
pub type Waiting<'a> = BoxFuture<'a, Result<(), Refusal>>;

/// A hook that answered [`Step::Wait`] without overriding its waiting twin: it cannot decide, so it refuses.
fn undecided<'a>(name: ErrorName) -> Waiting<'a> {
    Box::pin(std::future::ready(Err(Refusal::new(name, "undecided"))))
}
