//! The kit of output middleware.

use std::sync::Arc;

use loom_effect_runtime::OutputMiddleware;

use super::text::TextKit;

/// The kit of middleware that inspects output. `middleware` makes a fresh one each time.
///
/// Its delta form is held to what [`guard`](super::guard) checks. Its inspection and its form get the same texts, as a
/// text, as a struct and as a JSON value, streamed and not, and have to agree. Without a form the call is still judged
/// and its sink gets nothing.
///
/// ```
/// use loom_effect_runtime::{Refusal, Step, inspect};
///
/// let no_tilde = || {
///     inspect("no-tilde", None, |_call, output| match output.json() {
///         Ok(json) if !json.to_string().contains('~') => Step::Go,
///         _ => Step::Deny(Refusal::safety("no_tilde")),
///     })
/// };
/// loom_testing::kit::output_middleware(no_tilde).texts(["it is ~ here"]).check();
/// ```
pub fn output_middleware<M: OutputMiddleware>(middleware: impl Fn() -> M + Send + Sync + 'static) -> TextKit {
    TextKit::new("output middleware", true, move || Arc::new(middleware()))
}
