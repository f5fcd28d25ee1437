//! The kit of arounds.

use std::sync::Arc;

use loom_effect_runtime::Around;

use super::bounded::bounded;
use super::call::stage::Stage;
use super::call::{aborts, cancels, failures, hostile, keys, manners, refusals};
use super::report::Report;

/// Checks an [`Around`]: retry, timeout, memo, single flight, bulkhead.
///
/// `make` gives a fresh one each time, which lets through what the kit asks: some hundred calls one after the other, 64 at
/// once, an hour of virtual time between bursts.
///
/// ```
/// use loom_effect_runtime::around;
/// use loom_testing::kit;
///
/// kit::around(|| around("once", |_call, mut next| Box::pin(async move { next.run().await }))).check();
/// ```
///
/// | check | what holds |
/// | --- | --- |
/// | refusal-final | after a refusal no further run is asked for, and the refusal comes out; it is not kept for another call |
/// | success-kept | a success comes out, with its own room's proof |
/// | nothing-swallowed | a failure comes out as itself or as `DeadlineExceededError` |
/// | live-text | what a sink saw folds to what was returned |
/// | key-complete | no call is given another's output: not by input, tool or anything of its identity |
/// | cancel-safe | a call dropped at any await harms neither the next nor those beside it |
/// | abort-obeyed | an abort ends the call with the caller's own reason; no task is left behind |
/// | ends, no-panic, no-echo, never-blocks, named, repeatable | as for every hook |
///
/// The kit runs in virtual time: an around that waits for a thread of its own is said never to end.
pub fn around<A: Around>(make: impl Fn() -> A + Send + Sync + 'static) -> AroundKit {
    let make = Arc::new(make);
    let named = Arc::clone(&make);
    AroundKit {
        stage: Stage::new::<A>(move |builder| builder.allow_all_calls().around(make())),
        name: Arc::new(move || {
            let subject = named();
            [subject.name().to_owned(), subject.name().to_owned()]
        }),
        serves_stale: false,
        #[cfg(feature = "allocations")]
        allocations: None,
    }
}

/// The kit of one around: [`around`].
#[must_use = "a kit checks nothing until `check` or `report`"]
pub struct AroundKit {
    stage: Stage,
    name: Arc<manners::Name>,
    serves_stale: bool,
    #[cfg(feature = "allocations")]
    allocations: Option<u64>,
}

impl AroundKit {
    /// It may answer a failure with an output that it kept of an equal call.
    pub fn serves_stale(mut self) -> Self {
        self.serves_stale = true;
        self
    }

    /// A call of a ready effect makes at most so many allocations more than without any around.
    #[cfg(feature = "allocations")]
    pub fn allocations(mut self, most: u64) -> Self {
        self.allocations = Some(most);
        self
    }

    /// Runs the checks.
    pub fn report(self) -> Report {
        bounded(self.stage.subject, |mut report| async move {
            let Self { stage, name, serves_stale, .. } = &self;
            manners::named(&mut report, &**name);
            if !manners::yields(stage, &mut report).await {
                return report;
            }
            hostile::is_taken(stage, &mut report).await;
            refusals::are_final(stage, &mut report).await;
            failures::successes_are_kept(stage, &mut report).await;
            failures::failures_come_out(stage, &mut report, *serves_stale).await;
            keys::are_complete(stage, &mut report).await;
            cancels::leave_no_trace(stage, &mut report).await;
            cancels::leave_others_alone(stage, &mut report).await;
            aborts::are_obeyed(stage, &mut report).await;
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

impl std::fmt::Debug for AroundKit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AroundKit").field("subject", &self.stage.subject).finish_non_exhaustive()
    }
}
