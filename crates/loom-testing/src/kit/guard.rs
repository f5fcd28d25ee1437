//! The kit of delta forms.

use loom_effect_runtime::DeltaForm;

use super::text::{Alone, TextKit};
use std::sync::Arc;

/// The kit of a delta form and its guards, whatever inspects outputs beside them. `form` makes a fresh one each time.
///
/// It checks that the verdict and the bytes do not depend on how a text is cut, that guards share nothing, that a sever
/// comes out of the call, that no text makes it panic or block or is quoted by it, and that plain prose comes out as it
/// went in. Whoever changes that too is held to its own inspection: see [`output_middleware`](super::output_middleware).
///
/// ```
/// use loom_effect_runtime::{
///     CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Verdict, Violation,
/// };
///
/// struct NoTilde;
///
/// impl DeltaForm for NoTilde {
///     fn kinds(&self) -> DeltaKinds {
///         DeltaKinds::ALL
///     }
///     fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
///         Box::new(NoTilde)
///     }
/// }
///
/// impl DeltaGuard for NoTilde {
///     fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
///         match text.contains('~') {
///             true => Verdict::Sever(Violation::safety("no_tilde")),
///             false => Verdict::Pass,
///         }
///     }
///     fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
///         Ok(())
///     }
/// }
///
/// loom_testing::kit::guard(|| NoTilde).texts(["it is ~ here"]).check();
/// ```
pub fn guard<F: DeltaForm + 'static>(form: impl Fn() -> F + Send + Sync + 'static) -> TextKit {
    TextKit::new("a delta form", false, move || Arc::new(Alone(form())))
}
