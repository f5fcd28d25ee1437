//! T19: inside a flow the only ways to an effect are `run` and a decide scope.

use loom_effect_runtime::engine::EngineCall;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Scripted, ask, plan, run};

fn over(effect: Scripted) -> EffectRuntime {
    EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap()
}

/// T19: a bare transient call reached from a flow is refused, naming `run`; nothing runs.
#[test]
fn a_bare_call_in_a_flow_is_refused() {
    let effect = Scripted::new([]);
    let runtime = over(effect.clone());
    let call = runtime.invoke_transient(plan(&runtime), ask("x"));
    let error = run(InFlow::new(async { call.await })).unwrap_err();
    assert_eq!(error.name(), ErrorName::EffectModeViolation);
    assert!(error.to_string().contains("`run`"), "{error}");
    assert_eq!(effect.executions(), 0);
}

/// T19: a step and a scope call are let through, and the flow is still a flow behind them.
#[test]
fn a_step_and_a_scope_call_are_let_through() {
    let effect = Scripted::new([Act::Yield]);
    let runtime = over(effect.clone());
    let caller = runtime.caller(Identity::execution(Principal::new("ada"), RunAs::new("flow", "e1")));
    let tool = plan(&runtime);
    run(InFlow::new(async {
        let step = DurableStep::new("plan", "e1:plan");
        caller.invoke_transient(tool, ask("x")).durable(step).await.unwrap();
        let key = CallKey::decide("d", 1);
        caller.invoke_transient(tool, ask("x")).in_scope(key, ResourceTotals::default()).await.unwrap();
        let error = caller.invoke_transient(tool, ask("x")).await.unwrap_err();
        assert_eq!(error.name(), ErrorName::EffectModeViolation);
        tokio::task::yield_now().await;
        assert!(caller.invoke_transient(tool, ask("x")).await.is_err(), "and after a wait");
    }));
    assert_eq!(effect.executions(), 2);
}

/// T19: outside the flow, before, beside and after it, bare calls go on.
#[test]
fn a_flow_marks_nobody_else() {
    let runtime = over(Scripted::new([Act::Yield]));
    let bare = || runtime.invoke_transient(plan(&runtime), ask("x")).into_future();
    run(async {
        bare().await.unwrap();
        let flow = InFlow::new(async {
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        });
        let (beside, ()) = tokio::join!(bare(), flow);
        beside.unwrap();
        bare().await.unwrap();
    });
}

/// T19: an effect may call what it likes, although a flow runs it: the mark is cleared for the effect's polls.
#[test]
fn an_effect_may_call_what_it_likes() {
    struct Calls(Arc<Mutex<Option<EffectRuntime>>>);
    impl Effect for Calls {
        type Input = u8;
        type Output = bool;
        fn id(&self) -> &str {
            "calls"
        }
        async fn execute(&self, _: &u8, _: &EffectContext<'_>) -> Result<bool, CallError> {
            let inner = self.0.lock().unwrap().clone().unwrap();
            tokio::task::yield_now().await;
            Ok(inner.invoke_transient("plan", ask("x")).await.is_ok())
        }
    }
    let slot = Arc::new(Mutex::new(Some(over(Scripted::new([Act::Yield])))));
    let runtime = EffectRuntime::builder().allow_all_calls().effect(Calls(slot)).build().unwrap();
    let tool = runtime.tool::<u8, bool>("calls").unwrap();
    let step = DurableStep::new("calls", "e1:calls");
    let caller = runtime.caller(Identity::execution(Principal::new("ada"), RunAs::new("flow", "e1")));
    assert!(run(InFlow::new(async { caller.invoke_transient(tool, 1).durable(step).await.unwrap() })));
}

/// T19: a flow that panics leaves no mark behind.
#[test]
fn a_flow_that_panics_leaves_no_mark() {
    use futures::FutureExt;
    let runtime = over(Scripted::new([]));
    run(async {
        let flow = InFlow::new(async { panic!("scripted") });
        assert!(std::panic::AssertUnwindSafe(flow).catch_unwind().await.is_err());
        runtime.invoke_transient(plan(&runtime), ask("x")).await.unwrap();
    });
}
