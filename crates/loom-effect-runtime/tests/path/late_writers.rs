//! D16: text that a writer of attempt n sends once attempt n + 1 has begun reaches no sink and no guard.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{
    Act, Counted, Log, Recorder, Scripted, ask, inspect_with, metered, plan, run, stubborn,
};

/// D16: a late writer of attempt 1, during attempt 2, reaches no sink, guard or meter, and cannot end it either.
#[test]
fn a_late_writer_reaches_nothing_of_the_next_attempt() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let late = Arc::clone(&pumps);
    let (counted, log) = (Counted::default(), Log::new());
    let (sink, configured) = (Recorder::new(), Recorder::new());
    let effect =
        Scripted::new([Act::Pump(Arc::clone(&pumps)), Act::text("one"), Act::Fail(ErrorName::Provider)])
            .then([
                Act::text("tw"),
                Act::with(move |_| {
                    let pump = late.lock().unwrap()[0].clone();
                    assert!(matches!(pump.text("LATE"), Err(Stopped::Closed)));
                    assert!(matches!(pump.write(Lane::tool_arguments(1), "LATE"), Err(Stopped::Closed)));
                    pump.end(Some(Usage::new(99, 99)));
                }),
                Act::text("o"),
            ])
            .sink(configured.clone());
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(metered(1000, &log))
        .output_middleware(inspect_with(counted.form(DeltaKinds::ALL)))
        .around(stubborn(2))
        .effect(effect)
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let (result, report) = run(call.reported());
    assert_eq!(result.unwrap().text, "two");
    assert_eq!(sink.lines(), ["one", "<reset 2>", "tw", "o", "<done>"]);
    assert_eq!(configured.lines(), ["one", "<reset 2>", "tw", "o"]);
    assert_eq!(counted.figures(), [2, 3, 1]);
    assert_eq!(log.lines().iter().filter(|line| line.starts_with("metered")).count(), 3);
    assert_eq!(report.usage, None, "a late end mark reports nothing");
}

/// D16: between two attempts (the first over, the next not begun) a late writer reaches nothing.
#[test]
fn between_two_attempts_a_late_writer_reaches_nothing() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let late = Arc::clone(&pumps);
    let sink = Recorder::new();
    let effect =
        Scripted::new([Act::Pump(Arc::clone(&pumps)), Act::text("one"), Act::Fail(ErrorName::Provider)])
            .then([Act::text("two")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(around("waits", move |_, mut next| {
            let late = Arc::clone(&late);
            Box::pin(async move {
                next.run().await.unwrap_err();
                assert!(matches!(late.lock().unwrap()[0].text("LATE"), Err(Stopped::Closed)));
                next.run().await
            })
        }))
        .effect(effect)
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone()).into_future())
        .unwrap();
    assert_eq!(sink.lines(), ["one", "<reset 2>", "two", "<done>"]);
}

/// D16: a timeout around drops the attempt: its channel is latched, its future dropped, and attempt 2 begins clean.
#[tokio::test(start_paused = true)]
async fn a_timed_out_attempt_is_latched_and_dropped() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let late = Arc::clone(&pumps);
    let sink = Recorder::new();
    let effect = Scripted::new([Act::Pump(Arc::clone(&pumps)), Act::text("one"), Act::Park])
        .then([Act::with(move |_| assert!(late.lock().unwrap()[0].text("LATE").is_err())), Act::text("two")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(around("timeout", |_, mut next| {
            Box::pin(async move {
                let allowed = std::time::Duration::from_secs(1);
                if let Ok(result) = tokio::time::timeout(allowed, next.run()).await {
                    return result;
                }
                next.run().await
            })
        }))
        .effect(effect.clone())
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let (result, report) = call.reported().await;
    assert_eq!(result.unwrap().text, "two");
    assert_eq!((effect.dropped(), report.attempts), (1, 2));
    assert_eq!(sink.lines(), ["one", "<reset 2>", "two", "<done>"]);
}

/// D16: a pump that writes all through attempt 2 from another thread never lands in it.
#[test]
fn a_racing_writer_never_lands_in_the_next_attempt() {
    for _ in 0..50 {
        let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
        let late = Arc::clone(&pumps);
        let sink = Recorder::new();
        let writer: Arc<Mutex<Option<std::thread::JoinHandle<()>>>> = Arc::default();
        let started = Arc::clone(&writer);
        let effect = Scripted::new([
            Act::Pump(Arc::clone(&pumps)),
            Act::with(move |_| {
                let pump = late.lock().unwrap()[0].clone();
                *started.lock().unwrap() = Some(std::thread::spawn(move || {
                    for _ in 0..200 {
                        let _ = pump.text("1");
                    }
                }));
            }),
            Act::Fail(ErrorName::Provider),
        ])
        .then((0..20).map(|_| Act::text("2")));
        let runtime =
            EffectRuntime::builder().allow_all_calls().around(stubborn(2)).effect(effect).build().unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let result = run(call.into_future());
        writer.lock().unwrap().take().unwrap().join().unwrap();
        assert_eq!(result.unwrap().text, "2".repeat(20));
        assert_eq!(sink.fold(), "2".repeat(20));
        let lines = sink.lines();
        let reset = lines.iter().position(|line| line == "<reset 2>").unwrap();
        assert!(lines[reset..].iter().all(|line| line != "1"));
    }
}
