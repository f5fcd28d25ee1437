//! What stops it.

use std::sync::{Arc, Mutex};

use careless_rewriter::Rewriter;
use loom_effect_runtime::EffectRuntime;
use loom_testing::{Act, Scripted};
use serde_json::{Value, json};

/// D13: by the compiler: who leaves the form out has no output middleware.
#[test]
fn without_a_form_it_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/no_form.rs");
    cases.pass("tests/ui/form.rs");
}

/// D13: by the runtime: who says that there is no form blinds the stream, and is named in the warning.
#[tokio::test]
async fn the_runtime_shows_nobody_the_stream() {
    let (seen, warned) = (Arc::<Mutex<String>>::default(), Arc::<Mutex<Vec<String>>>::default());
    let (sink, warns) = (Arc::clone(&seen), Arc::clone(&warned));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(Rewriter)
        .on_warn(move |warning| warns.lock().unwrap().push(warning.to_string()))
        .effect(Scripted::<String>::new([Act::text("the word is swordfish")]))
        .build()
        .unwrap();
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    let output = runtime
        .invoke_transient(tool, json!({}))
        .on_delta(move |delta| sink.lock().unwrap().push_str(delta.text().unwrap_tainted()))
        .await
        .unwrap();
    assert_eq!((output.as_str(), seen.lock().unwrap().as_str()), ("the word is […]", ""));
    let warned = warned.lock().unwrap();
    assert!(warned.iter().any(|line| line.contains("careless-rewriter")), "{warned:?}");
}

/// Saying it aloud is honest, and the kit has nothing against it.
#[test]
fn the_kit_lets_an_honest_none_pass() {
    loom_testing::kit::output_middleware(|| Rewriter).texts(["the word is swordfish"]).check();
}
