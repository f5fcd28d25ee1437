//! The kit of authorizers.

use loom_effect_runtime::{Authorizer, Identity};
use serde_json::Value;

use super::bounded::bounded;
use super::call::stage::Stage;
use super::call::{cancels, hostile, manners, wear, words};
use super::report::Report;

/// Checks an [`Authorizer`]. `make` gives a fresh one each time.
///
/// The kit asks as identities of its own for tools of its own, which most authorizers deny; tell it of yours by
/// [`caller`](AuthorizerKit::caller), [`tool`](AuthorizerKit::tool) and [`denies`](AuthorizerKit::denies), so that both
/// answers are seen.
///
/// ```
/// use loom_effect_runtime::{Identity, Principal, Refusal, Step, authorize};
/// use loom_testing::kit;
/// use serde_json::json;
///
/// kit::authorizer(|| {
///     authorize(|call, _input| match call.identity().principal().id() {
///         "ada" => Step::Go,
///         _ => Step::Deny(Refusal::capability_denied(call.tool())),
///     })
/// })
/// .caller(Identity::new(Principal::new("ada")))
/// .tool("refund")
/// .denies(Identity::new(Principal::new("bob")), "refund", json!({ "amount": 1 }))
/// .check();
/// ```
///
/// | check | what holds |
/// | --- | --- |
/// | refusal-final | it refuses under a refusal's name, by a rule |
/// | fail-closed | an input that does not fit, a delegation, and acting as another get no milder answer |
/// | repeatable | asked the same it answers the same, also after 64 calls that ended badly |
/// | cancel-safe | after 64 calls dropped at each await a call is answered as a first one |
/// | no-panic, no-echo | over hostile inputs and every outcome |
/// | ends | it decides within its deadline; who answers [`Step::Wait`](loom_effect_runtime::Step::Wait) has a waiting twin |
/// | live-text, never-blocks | as for every hook |
pub fn authorizer<A: Authorizer>(make: impl Fn() -> A + Send + Sync + 'static) -> AuthorizerKit {
    AuthorizerKit {
        stage: Stage::new::<A>(move |builder| builder.authorizer(make())),
        identities: words::identities(),
        denied: Vec::new(),
        lets_act: false,
        #[cfg(feature = "allocations")]
        allocations: None,
    }
}

/// The kit of one authorizer: [`authorizer`].
#[must_use = "a kit checks nothing until `check` or `report`"]
pub struct AuthorizerKit {
    stage: Stage,
    identities: Vec<Identity>,
    denied: Vec<(Identity, String, Value)>,
    lets_act: bool,
    #[cfg(feature = "allocations")]
    allocations: Option<u64>,
}

impl AuthorizerKit {
    /// Asks as this identity too. The first one is who the checks that need no denial ask as.
    pub fn caller(mut self, identity: Identity) -> Self {
        self.stage.usual.identity.get_or_insert_with(|| identity.clone());
        self.identities.push(identity);
        self
    }

    /// Asks for this tool too: an id as [`Effect::id`](loom_effect_runtime::Effect::id) demands it. The first one is what
    /// the checks that need no denial ask for.
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        let tool = tool.into();
        self.stage.usual.tool.get_or_insert_with(|| tool.clone());
        self.with(tool)
    }

    fn with(mut self, tool: String) -> Self {
        if !self.stage.tools.contains(&tool) {
            self.stage.tools.push(tool);
        }
        self
    }

    /// This call is denied, and it stays so where a field of its input is of another type.
    pub fn denies(mut self, identity: Identity, tool: impl Into<String>, input: Value) -> Self {
        let tool = tool.into();
        self.denied.push((identity, tool.clone(), input));
        self.with(tool)
    }

    /// Some may act as another: then those are answered as that other is. Without this word nobody may.
    pub fn lets_act(mut self) -> Self {
        self.lets_act = true;
        self
    }

    /// A call of a ready effect makes at most so many allocations more than where all calls are allowed.
    #[cfg(feature = "allocations")]
    pub fn allocations(mut self, most: u64) -> Self {
        self.allocations = Some(most);
        self
    }

    /// Runs the checks.
    pub fn report(self) -> Report {
        bounded(self.stage.subject, |mut report| async move {
            let Self { stage, identities, denied, lets_act, .. } = &self;
            if !manners::yields(stage, &mut report).await {
                return report;
            }
            hostile::is_taken(stage, &mut report).await;
            words::are_kept(stage, &mut report, identities).await;
            words::hold_for_unfit(stage, &mut report, identities).await;
            for said in denied {
                words::deny(stage, &mut report, said).await;
            }
            words::hold_for_delegations(stage, &mut report).await;
            words::hold_for_stand_ins(stage, &mut report, identities, *lets_act).await;
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

impl std::fmt::Debug for AuthorizerKit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizerKit").field("subject", &self.stage.subject).finish_non_exhaustive()
    }
}
