//! What stops it.

use std::sync::{Arc, Mutex};

use careless_swallower::{Deaf, Swallower};
use loom_effect_runtime::{
    CallInfo, DeltaForm, DeltaGuard, DeltaKinds, EffectRuntime, Lane, Outlet, Step, Verdict, Violation,
    inspect,
};

/// Severs a piece that holds the word.
struct Wall;

impl DeltaForm for Wall {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Self)
    }
}

impl DeltaGuard for Wall {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        if text.contains("swordfish") { Verdict::Sever(Violation::safety("wall")) } else { Verdict::Pass }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// D15: by the runtime: the call fails with the violation, though effect and guard both say that all is well.
#[tokio::test]
async fn the_runtime_fails_the_call_that_was_severed() {
    let seen = Arc::<Mutex<String>>::default();
    let sink = Arc::clone(&seen);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect("deaf", Some(Arc::new(Deaf)), |_, _| Step::Go))
        .output_middleware(inspect("wall", Some(Arc::new(Wall)), |_, _| Step::Go))
        .effect(Swallower)
        .build()
        .unwrap();
    let tool = runtime.tool::<String, String>("swallower").unwrap();
    let error = runtime
        .invoke_transient(tool, "the word is swordfish, says he".to_owned())
        .on_delta(move |delta| sink.lock().unwrap().push_str(delta.text().unwrap_tainted()))
        .await
        .unwrap_err();
    assert_eq!((error.rule(), seen.lock().unwrap().as_str()), (Some("wall"), "the word is "));
}
