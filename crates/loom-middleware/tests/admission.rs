//! Admission on a real runtime.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use loom_effect_runtime::engine::EngineCall;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loom_effect_runtime::{
    CallError, CallKey, Effect, EffectContext, EffectRuntime, ErrorName, Identity, Principal, ResourceTotals,
    RunAs, Usage,
};
use loom_middleware::{Admission, Retry};

struct Counted(Arc<AtomicU32>);

impl Effect for Counted {
    type Input = ();
    type Output = u32;

    fn id(&self) -> &str {
        "counted"
    }

    async fn execute(&self, (): &(), _cx: &EffectContext<'_>) -> Result<u32, CallError> {
        Ok(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

fn runtime(admission: Admission) -> (EffectRuntime, Arc<AtomicU32>) {
    let ran = Arc::new(AtomicU32::new(0));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(admission)
        .around(Retry::new().when(|_| true))
        .effect(Counted(Arc::clone(&ran)))
        .build()
        .unwrap();
    (runtime, ran)
}

/// T12: a scope call of an execution that reached its ceiling is refused, with and without a sink, and runs nothing.
#[tokio::test]
async fn a_scope_call_over_its_executions_ceiling_is_refused() {
    let (runtime, ran) = runtime(Admission::new().calls_max(3).tokens_max(100));
    let identity = Identity::execution(Principal::new("ada"), RunAs::new("flow", "execution"));
    let caller = runtime.caller(identity);
    let judge = |calls, usage| {
        let key = CallKey::decide("plan", 1);
        caller.invoke_transient("counted", ()).in_scope(key, ResourceTotals::new(calls, usage))
    };
    assert!(judge(2, Usage::new(40, 59)).await.is_ok());
    for (calls, usage, rule) in
        [(3, Usage::default(), "admission.calls"), (0, Usage::new(40, 60), "admission.tokens")]
    {
        let plain = judge(calls, usage).await.unwrap_err();
        let streamed = judge(calls, usage).on_delta(|_| panic!("no sink is called")).await.unwrap_err();
        for error in [plain, streamed] {
            assert_eq!(error.name(), ErrorName::QuotaExceeded);
            assert_eq!(error.rule(), Some(rule));
        }
    }
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

/// T12: a bare call belongs to no execution: there is nothing to hold it to.
#[tokio::test]
async fn a_bare_call_has_no_totals_and_is_let_through() {
    let (runtime, ran) = runtime(Admission::new().calls_max(0).tokens_max(0));
    assert!(runtime.invoke_transient("counted", ()).await.is_ok());
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}
