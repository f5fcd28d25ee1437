//! What stops it.

use std::sync::Arc;

use careless_panicker::Slicer;
use loom_effect_runtime::{EffectRuntime, ErrorName, Step, inspect};
use loom_testing::kit::Check;
use loom_testing::{Act, Scripted};
use serde_json::{Value, json};

/// D10: by the runtime: a guard that panics severs.
#[tokio::test]
async fn the_runtime_severs() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect("slicer", Some(Arc::new(Slicer)), |_, _| Step::Go))
        .effect(Scripted::<String>::new([Act::text("日本語のテキスト")]))
        .build()
        .unwrap();
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    let error = runtime.invoke_transient(tool, json!({})).on_delta(|_| {}).await.unwrap_err();
    assert_eq!(error.name(), ErrorName::SafetyViolation);
}

/// By the kit, before anybody writes Japanese.
#[test]
fn the_kit_reports_the_panic() {
    let report = loom_testing::kit::guard(|| Slicer).report();
    assert!(report.found(Check::NoPanic), "{report}");
}
