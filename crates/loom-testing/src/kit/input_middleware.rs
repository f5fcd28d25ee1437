//! The kit of middleware that rewrites input.

use std::sync::Arc;

use loom_effect_runtime::InputMiddleware;

use super::bounded::bounded;
use super::call::stage::Stage;
use super::call::{cancels, forms, hostile, manners, wear};
use super::report::Report;

/// Checks an [`InputMiddleware`]. `make` gives a fresh one each time.
///
/// ```
/// use loom_effect_runtime::{Refusal, Step, rewrite};
/// use loom_testing::kit;
/// use serde_json::Value;
///
/// fn trim(value: &mut Value) {
///     match value {
///         Value::String(text) => *text = text.trim().to_owned(),
///         Value::Array(items) => items.iter_mut().for_each(trim),
///         Value::Object(fields) => fields.values_mut().for_each(trim),
///         _ => {}
///     }
/// }
///
/// kit::input_middleware(|| {
///     rewrite("trim", |_call, input| match input.edit(trim) {
///         Ok(()) => Step::Go,
///         Err(_) => Step::Deny(Refusal::safety("trim")),
///     })
/// })
/// .check();
/// ```
///
/// | check | what holds |
/// | --- | --- |
/// | forms-agree | the same input, typed or as JSON, is rewritten alike, and that is what reaches the effect |
/// | repeatable | fresh ones rewrite alike, and one does so again; after 64 calls that ended badly too |
/// | cancel-safe | after 64 calls dropped at each await a call is answered as a first one |
/// | no-panic, no-echo | over hostile inputs, JSON and typed, and every outcome |
/// | ends | it decides within its deadline; who answers [`Step::Wait`](loom_effect_runtime::Step::Wait) has a waiting twin |
/// | live-text, never-blocks, named | as for every hook |
pub fn input_middleware<M: InputMiddleware>(
    make: impl Fn() -> M + Send + Sync + 'static,
) -> InputMiddlewareKit {
    let make = Arc::new(make);
    let named = Arc::clone(&make);
    InputMiddlewareKit {
        stage: Stage::new::<M>(move |builder| builder.allow_all_calls().input_middleware(make())),
        name: Arc::new(move || {
            let subject = named();
            [subject.name().to_owned(), subject.name().to_owned()]
        }),
        #[cfg(feature = "allocations")]
        allocations: None,
    }
}

/// The kit of one input middleware: [`input_middleware`].
#[must_use = "a kit checks nothing until `check` or `report`"]
pub struct InputMiddlewareKit {
    stage: Stage,
    name: Arc<manners::Name>,
    #[cfg(feature = "allocations")]
    allocations: Option<u64>,
}

impl InputMiddlewareKit {
    /// A call of a ready effect makes at most so many allocations more than without any input middleware.
    #[cfg(feature = "allocations")]
    pub fn allocations(mut self, most: u64) -> Self {
        self.allocations = Some(most);
        self
    }

    /// Runs the checks.
    pub fn report(self) -> Report {
        bounded(self.stage.subject, |mut report| async move {
            let Self { stage, name, .. } = &self;
            manners::named(&mut report, &**name);
            if !manners::yields(stage, &mut report).await {
                return report;
            }
            hostile::is_taken(stage, &mut report).await;
            forms::agree(stage, &mut report).await;
            wear::is_none(stage, &mut report).await;
            cancels::leave_no_trace(stage, &mut report).await;
            #[cfg(feature = "allocations")]
            if let Some(most) = self.allocations {
                super::call::costs::are_bounded(stage, &mut report, most);
            }
            report
        })
    }

    /// Runs the checks; passes where no fault was found.
    ///
    /// # Panics
    /// With the whole report, where there is a fault.
    #[track_caller]
    pub fn check(self) {
        self.report().assert();
    }
}

impl std::fmt::Debug for InputMiddlewareKit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputMiddlewareKit").field("subject", &self.stage.subject).finish_non_exhaustive()
    }
}
