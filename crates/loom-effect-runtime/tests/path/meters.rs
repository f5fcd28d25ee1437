//! D7: volume is bounded: meters see kinds and sizes, before the guards, and sever before delivery.

use std::sync::Arc;

use loom_effect_runtime::*;

use crate::support::hooks::Budget;
use crate::support::{
    Act, Counted, Log, Recorder, Scripted, ask, inspect_with, metered, plan, run, stubborn,
};

/// D7: the breaching delta reaches no guard and no sink, and the call fails with the meter's violation.
#[test]
fn a_meter_severs_before_delivery() {
    let (log, guards) = (Log::new(), Counted::default());
    let (sink, configured) = (Recorder::new(), Recorder::new());
    let effect =
        Scripted::new([Act::text("four"), Act::text("five!"), Act::text("six")]).sink(configured.clone());
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(metered(8, &log))
        .output_middleware(inspect_with(guards.form(DeltaKinds::ALL)))
        .effect(effect)
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let error = run(call.into_future()).unwrap_err();
    assert_eq!((error.name(), error.rule()), (ErrorName::QuotaExceeded, Some("bytes")));
    assert_eq!(sink.lines(), ["four"]);
    assert_eq!(configured.lines(), ["four"]);
    assert_eq!(guards.figures()[1], 1, "the guard saw the first piece only");
    assert_eq!(log.lines(), ["meter made", "metered Text 4", "metered Text 5"]);
}

/// D7: each attempt has a fresh meter; a breach is not retried.
#[test]
fn a_meter_is_fresh_per_attempt() {
    let log = Log::new();
    let effect = Scripted::new([Act::text("four"), Act::Fail(ErrorName::Provider)])
        .then([Act::text("four"), Act::Fail(ErrorName::Provider)])
        .then([Act::text("four, and more")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(metered(8, &log))
        .around(stubborn(9))
        .effect(effect.clone())
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::new());
    assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::QuotaExceeded);
    assert_eq!(effect.executions(), 3);
    assert_eq!(log.lines().iter().filter(|line| *line == "meter made").count(), 3);
}

/// D7: a call's own meter counts after the middlewares' meters, and severs as they do.
#[test]
fn a_call_may_bring_its_own_meter() {
    let (log, own) = (Log::new(), Log::new());
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(metered(100, &log))
        .effect(Scripted::new([Act::text("four"), Act::text("more")]))
        .build()
        .unwrap();
    let meter: Arc<dyn MeterForm> = Arc::new(Budget { bytes: 5, log: own.clone() });
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).meter(meter).on_delta_sink(sink.clone());
    assert_eq!(run(call.into_future()).unwrap_err().rule(), Some("bytes"));
    assert_eq!(sink.lines(), ["four"]);
    assert_eq!(log.lines().len(), own.lines().len());
}

/// D7: without any sink the stream is metered all the same.
#[test]
fn a_stream_that_nobody_follows_is_metered() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(metered(3, &Log::new()))
        .effect(Scripted::new([Act::text("four")]))
        .build()
        .unwrap();
    let error = run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err();
    assert_eq!(error.rule(), Some("bytes"));
}

/// D7: every kind counts, whether or not a sink asks for it.
#[test]
fn every_kind_is_metered() {
    let log = Log::new();
    let effect = Scripted::new([
        Act::write(Lane::REASONING, "hm"),
        Act::write(Lane::tool_arguments(0), "{}"),
        Act::text("é"),
    ]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(metered(99, &log))
        .effect(effect)
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!(log.lines()[1..], ["metered Reasoning 2", "metered ToolArguments 2", "metered Text 2"]);
}

/// D7: a meter that was there at registration and is not given in a call severs: a budget does not vanish.
#[test]
fn a_meter_that_vanishes_severs() {
    struct Vanishing(std::sync::atomic::AtomicBool, Budget);
    impl Middleware for Vanishing {
        fn name(&self) -> &str {
            "vanishing"
        }
        fn meter(&self) -> Option<&dyn MeterForm> {
            let asked = self.0.swap(true, std::sync::atomic::Ordering::SeqCst);
            if asked { None } else { Some(&self.1) }
        }
    }
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(Vanishing(false.into(), Budget { bytes: 1, log: Log::new() }))
        .effect(Scripted::new([Act::text("four")]))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    assert!(run(call.into_future()).is_err());
    assert!(sink.log.is_empty());
}
