//! What stops it.

use std::sync::Arc;

use careless_repeater::Repeater;
use loom_effect_runtime::{EffectRuntime, ErrorName, Step, inspect};
use loom_testing::kit::Check;
use loom_testing::{Act, Scripted};
use serde_json::{Value, json};

/// D11: by the runtime: text that was delivered twice is not the output's.
#[tokio::test]
async fn the_runtime_fails_the_call_that_was_shown_twice() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect("repeater", Some(Arc::new(Repeater)), |_, _| Step::Go))
        .effect(Scripted::<String>::new([Act::text("once")]))
        .build()
        .unwrap();
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    let error = runtime.invoke_transient(tool, json!({})).on_delta(|_| {}).await.unwrap_err();
    assert_eq!(error.name(), ErrorName::OutputInvalid);
}

/// D11: by the kit, also for effects that state no live text.
#[test]
fn the_kit_reports_text_that_is_delivered_twice() {
    let report = loom_testing::kit::guard(|| Repeater).report();
    assert!(report.found(Check::LiveText), "{report}");
}
