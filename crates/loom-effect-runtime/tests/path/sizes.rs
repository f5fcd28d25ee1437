//! Sizes that the path promises, and calls that any task can own.

use std::mem::size_of;

use loom_effect_runtime::*;

use crate::support::{Act, Answer, Ask, Recorder, Scripted, ask, plan, run};

/// The most a call's future may measure.
const CALL_FUTURE_BYTES_MAX: usize = 2 * 1024;

/// D2: errors are one word, a step two; a refusal costs no wide return on the path.
#[test]
fn errors_and_steps_are_small() {
    assert_eq!(size_of::<CallError>(), 8);
    assert_eq!(size_of::<Violation>(), 8);
    assert_eq!(size_of::<Refusal>(), 8);
    assert_eq!(size_of::<Result<(), CallError>>(), 8);
    assert!(size_of::<Step>() <= 16);
    assert!(size_of::<Verdict>() <= 16);
}

/// D2: the future of a call, typed or by id, with and without options, fits into 2 KiB.
#[test]
fn the_future_of_a_call_is_small() {
    let runtime = EffectRuntime::builder().allow_all_calls().effect(Scripted::new([])).build().unwrap();
    let typed =
        runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::new()).into_future();
    let by_id = runtime.invoke_transient("plan", ask("x")).into_future();
    let sizes = [std::mem::size_of_val(&typed), std::mem::size_of_val(&by_id)];
    assert!(sizes.iter().all(|size| *size <= CALL_FUTURE_BYTES_MAX), "{sizes:?}");
}

/// D1: a builder borrows nothing: it can be made in one place, spawned in another, joined and stored.
#[test]
fn a_builder_owns_what_it_needs() {
    fn started(name: &str) -> impl Future<Output = Result<Answer, CallError>> + Send + 'static + use<> {
        let effect = Scripted::new([Act::Yield, Act::answer("x")]);
        let runtime = EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap();
        let tool = runtime.tool::<Ask, Answer>(name).unwrap();
        runtime.invoke_transient(tool, ask("x")).on_delta(|_| ()).into_future()
    }
    run(async {
        let name = "plan".to_owned();
        let call = started(&name);
        drop(name);
        let spawned = tokio::spawn(started("plan"));
        let runtime = EffectRuntime::builder().allow_all_calls().effect(Scripted::new([])).build().unwrap();
        let by_id = tokio::spawn(runtime.invoke_transient("plan", ask("x")).into_future());
        let (one, two, three) = tokio::join!(call, spawned, by_id);
        assert!(one.is_ok() && two.unwrap().is_ok() && three.unwrap().is_ok());
    });
}

/// D1: a builder that is dropped, and one that is never awaited, run nothing.
#[test]
fn nothing_runs_until_it_is_awaited() {
    let effect = Scripted::new([]);
    let runtime = EffectRuntime::builder().allow_all_calls().effect(effect.clone()).build().unwrap();
    drop(runtime.invoke_transient(plan(&runtime), ask("x")));
    drop(runtime.invoke_transient(plan(&runtime), ask("x")).into_future());
    assert_eq!(effect.executions(), 0);
}
