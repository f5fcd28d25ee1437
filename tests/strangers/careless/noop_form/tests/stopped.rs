//! What stops it.

use careless_noop_form::Rewriter;
use loom_effect_runtime::{EffectRuntime, ErrorName};
use loom_testing::kit::Check;
use loom_testing::{Act, Scripted};
use serde_json::{Value, json};

/// D11: by the runtime: live text that is not the output's fails the call.
#[tokio::test]
async fn the_runtime_fails_the_call_whose_stream_differs() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(Rewriter)
        .effect(Scripted::<String>::new([Act::text("the word is swordfish")]))
        .build()
        .unwrap();
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    let error = runtime.invoke_transient(tool, json!({})).on_delta(|_| {}).await.unwrap_err();
    assert_eq!(error.name(), ErrorName::OutputInvalid);
}

/// D13: by the kit, before anybody runs it.
#[test]
fn the_kit_reports_that_the_forms_disagree() {
    let report = loom_testing::kit::output_middleware(|| Rewriter).texts(["the word is swordfish"]).report();
    assert!(report.found(Check::FormsAgree), "{report}");
}
