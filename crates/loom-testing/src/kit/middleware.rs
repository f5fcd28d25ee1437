//! The kit of pass-through middleware.

use std::sync::Arc;

use loom_effect_runtime::Middleware;

use super::bounded::bounded;
use super::call::stage::Stage;
use super::call::{cancels, hostile, manners, meters, wear};
use super::report::Report;

/// Checks a pass-through [`Middleware`]: kill switch, admission, rate limit, validation of input, metering.
///
/// `make` gives a fresh one each time. It lets the kit's calls pass, or refuses them, each time alike; a rate, ceiling or
/// pool has room for two hundred calls one after the other, or finds it again within an hour of virtual time.
///
/// ```
/// use loom_effect_runtime::{Step, before};
/// use loom_testing::kit;
///
/// kit::middleware(|| before("open", |_call, _input| Step::Go)).check();
/// ```
///
/// | check | what holds |
/// | --- | --- |
/// | repeatable | fresh ones answer alike; after 64 calls that ended badly a call is answered as a first one |
/// | cancel-safe | after 64 calls dropped at each await a call is answered as a first one |
/// | fresh-guard | what its meter lets pass alone passes as a second attempt too |
/// | live-text | what a sink saw folds to what was returned |
/// | no-panic, no-echo | over hostile inputs and every outcome: success, failure, panic, abort |
/// | ends | it decides within its deadline; who answers [`Step::Wait`](loom_effect_runtime::Step::Wait) has a waiting twin |
/// | never-blocks, named | as for every hook |
pub fn middleware<M: Middleware>(make: impl Fn() -> M + Send + Sync + 'static) -> MiddlewareKit {
    let make = Arc::new(make);
    let named = Arc::clone(&make);
    MiddlewareKit {
        stage: Stage::new::<M>(move |builder| builder.allow_all_calls().middleware(make())),
        name: Arc::new(move || {
            let subject = named();
            [subject.name().to_owned(), subject.name().to_owned()]
        }),
        #[cfg(feature = "allocations")]
        allocations: None,
    }
}

/// The kit of one middleware: [`middleware`].
#[must_use = "a kit checks nothing until `check` or `report`"]
pub struct MiddlewareKit {
    stage: Stage,
    name: Arc<manners::Name>,
    #[cfg(feature = "allocations")]
    allocations: Option<u64>,
}

impl MiddlewareKit {
    /// A call of a ready effect makes at most so many allocations more than without any middleware.
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
            meters::are_fresh(stage, &mut report).await;
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

impl std::fmt::Debug for MiddlewareKit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MiddlewareKit").field("subject", &self.stage.subject).finish_non_exhaustive()
    }
}
