//! What stops it.

use careless_retrier::Stubborn;
use loom_effect_runtime::{EffectRuntime, ErrorName};
use loom_testing::kit::Check;
use loom_testing::{Act, Scripted};
use serde_json::{Value, json};

/// T11: by the runtime: after a refusal nothing runs.
#[tokio::test]
async fn the_runtime_runs_nothing_after_a_refusal() {
    let effect = Scripted::<String>::new([Act::Fail(ErrorName::QuotaExceeded)]);
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(Stubborn).effect(effect.clone()).build().unwrap();
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    let error = runtime.invoke_transient(tool, json!({})).await.unwrap_err();
    assert_eq!((error.name(), effect.executions()), (ErrorName::QuotaExceeded, 1));
}

/// T11: by the kit: it sees that another run was asked for.
#[test]
fn the_kit_reports_that_a_refusal_is_not_final() {
    let report = loom_testing::kit::around(|| Stubborn).report();
    assert!(report.found(Check::RefusalFinal), "{report}");
}
