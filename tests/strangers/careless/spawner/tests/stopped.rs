//! What stops it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use careless_spawner::Spawner;
use loom_effect_runtime::{AbortError, EffectRuntime, ErrorName, Signal};
use loom_testing::kit::Check;

/// D8: by the runtime: the call ends at the abort, and what the task writes after it reaches nobody.
#[tokio::test(start_paused = true)]
async fn the_runtime_ends_the_call_and_shows_nothing_more() {
    let seen = Arc::<Mutex<String>>::default();
    let sink = Arc::clone(&seen);
    let runtime = EffectRuntime::builder().allow_all_calls().effect(Spawner).build().unwrap();
    let tool = runtime.tool::<String, String>("spawner").unwrap();
    let signal = Signal::new();
    let call = runtime
        .invoke_transient(tool, "one two three".to_owned())
        .signal(signal.clone())
        .on_delta(move |delta| sink.lock().unwrap().push_str(delta.text().unwrap_tainted()));
    let aborts = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        signal.abort_with(AbortError::new());
    };
    let (result, ()) = tokio::join!(call.into_future(), aborts);
    assert_eq!(result.unwrap_err().name(), ErrorName::Abort);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(seen.lock().unwrap().as_str(), "one ");
}

/// D8: by the kit: it counts what is left behind.
#[test]
fn the_kit_reports_the_task_that_is_left_behind() {
    let report = loom_testing::kit::effect(|| Spawner, vec!["one two three".to_owned()]).report();
    assert!(report.found(Check::AbortObeyed), "{report}");
}
