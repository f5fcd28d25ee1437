//! D15: a sever cannot be swallowed, whatever the effect makes of it.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{
    Act, Recorder, Scripted, ask, form, hold_all, inspect_with, plan, run, sever_on, stubborn,
};

/// A runtime that severs on `secret`.
fn severing(effect: Scripted, retries: bool) -> EffectRuntime {
    let builder =
        EffectRuntime::builder().allow_all_calls().output_middleware(inspect_with(sever_on("secret")));
    let builder = if retries { builder.around(stubborn(5)) } else { builder };
    builder.effect(effect).build().unwrap()
}

fn is_the_violation(error: &CallError) {
    assert_eq!((error.name(), error.rule()), (ErrorName::SafetyViolation, Some("word")));
    let violation = error.violation().unwrap();
    assert_eq!((violation.offset(), violation.length()), (Some(2), Some(6)));
    assert!(error.is_refusal());
}

/// D15: swallowed, ignored, parked for ever, mapped or panicked over: the call fails with the violation, unretried.
#[test]
fn a_sever_cannot_be_swallowed() {
    let mapped = Act::with(|cx| {
        drop(cx.deltas().text("secret").map_err(|_| CallError::named(ErrorName::Provider, "")))
    });
    let cases: [(&str, Vec<Act>, usize); 6] = [
        ("propagated", vec![Act::text("secret")], 0),
        ("swallowed and answered", vec![Act::swallow("secret"), Act::answer("fine")], 0),
        ("swallowed and written on", vec![Act::swallow("secret"), Act::swallow("more"), Act::End(None)], 0),
        ("parked for ever", vec![Act::swallow("secret"), Act::Park], 1),
        ("mapped to another error", vec![mapped, Act::Fail(ErrorName::Provider)], 0),
        ("panicked", vec![Act::swallow("secret"), Act::Panic], 1),
    ];
    for ((what, acts, dropped), retries) in cases.iter().flat_map(|case| [(case, false), (case, true)]) {
        let mut script = vec![Act::text("a ")];
        script.extend(acts.iter().cloned());
        let (sink, configured) = (Recorder::new(), Recorder::new());
        let effect = Scripted::new(script).sink(configured.clone());
        let runtime = severing(effect.clone(), retries);
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let (result, report) = run(call.reported());
        is_the_violation(&result.unwrap_err());
        assert_eq!((effect.executions(), effect.dropped()), (1, *dropped), "{what}");
        assert_eq!(sink.lines(), ["a "], "{what}");
        assert_eq!(configured.lines(), ["a "], "{what}");
        assert_eq!((report.attempts, report.streamed), (1, false), "{what}");
    }
}

/// D15: in the ready lane too.
#[test]
fn a_sever_in_the_ready_lane_cannot_be_swallowed() {
    for last in [Act::answer("fine"), Act::Fail(ErrorName::Provider), Act::Panic] {
        for retries in [false, true] {
            let acts = [Act::text("a "), Act::swallow("secret"), last.clone()];
            let effect = Scripted::new(acts).ready_lane();
            let runtime = severing(effect.clone(), retries);
            let call = runtime.invoke_transient(plan(&runtime), ask("x"));
            is_the_violation(&run(call.into_future()).unwrap_err());
            assert_eq!(effect.executions(), 1);
        }
    }
}

/// D15: a pump on another thread severs while the effect sleeps: the call wakes, fails, and drops the future.
#[test]
fn a_sever_from_a_pump_wakes_the_call_and_drops_the_effect() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let effect = Scripted::new([Act::text("a "), Act::Pump(Arc::clone(&pumps)), Act::Park]);
    let runtime = severing(effect.clone(), true);
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let error = run(async {
        let call = tokio::spawn(call.into_future());
        while pumps.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let pump = pumps.lock().unwrap()[0].clone();
        let stopped = std::thread::spawn(move || pump.text("secret")).join().unwrap();
        assert!(matches!(stopped, Err(Stopped::Severed(_))));
        call.await.unwrap().unwrap_err()
    });
    is_the_violation(&error);
    assert_eq!((effect.executions(), effect.dropped()), (1, 1));
    assert_eq!(sink.lines(), ["a "]);
}

/// D15: once severed, every later write of every handle is answered with the same violation.
#[test]
fn a_severed_channel_stays_severed() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let out = Arc::clone(&seen);
    let effect = Scripted::new([
        Act::text("a "),
        Act::with(move |cx| {
            let other = cx.deltas();
            for text in ["secret", "fine", "also fine"] {
                out.lock().unwrap().push(cx.deltas().text(text).unwrap_err().to_string());
            }
            out.lock().unwrap().push(other.write(Lane::REASONING, "x").unwrap_err().to_string());
        }),
    ]);
    let runtime = severing(effect, false);
    is_the_violation(&run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err());
    assert_eq!(*seen.lock().unwrap(), ["the stream was severed"; 4]);
}

/// D15: a guard in front that ignores what one behind it found does not undo it, nor what it passes afterwards.
#[test]
fn a_violation_further_down_is_sticky() {
    struct Deaf;
    impl DeltaGuard for Deaf {
        fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
            out.pass(text);
            out.pass(" and more");
            Verdict::Done
        }
        fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
            Ok(())
        }
    }
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(form(DeltaKinds::ALL, || Deaf)))
        .output_middleware(inspect_with(sever_on("secret")))
        .effect(Scripted::new([Act::text("a secret")]))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    is_the_violation(&run(call.into_future()).unwrap_err());
    assert!(sink.log.is_empty());
}

/// D15: a guard that holds back may sever at the very end: inspection had passed, the attempt fails, no done.
#[test]
fn a_violation_at_the_end_fails_the_attempt() {
    let effect = Scripted::new([Act::text("a secret")]);
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(hold_all()))
        .output_middleware(inspect_with(sever_on("secret")))
        .around(stubborn(3))
        .effect(effect.clone())
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    is_the_violation(&run(call.into_future()).unwrap_err());
    assert_eq!(effect.executions(), 1);
    assert!(sink.log.is_empty());
}

/// D15: an around cannot hide the violation behind an error of its own, nor by panicking, nor by a timeout.
#[test]
fn an_around_cannot_hide_a_sever() {
    let maps = |name: ErrorName| {
        around("maps", move |_, mut next| {
            Box::pin(async move { next.run().await.map_err(|_| CallError::named(name, "all is well")) })
        })
    };
    let panics = || {
        around("panics", |_, mut next| {
            Box::pin(async move {
                let _ = next.run().await;
                panic!("scripted")
            })
        })
    };
    let plain =
        || EffectRuntime::builder().allow_all_calls().output_middleware(inspect_with(sever_on("secret")));
    for builder in [
        plain().around(maps(ErrorName::Provider)),
        plain().around(maps(ErrorName::DeadlineExceeded)),
        plain().around(panics()),
    ] {
        let runtime = builder.effect(Scripted::new([Act::text("a secret")])).build().unwrap();
        is_the_violation(&run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err());
    }
}

/// D15: an attempt that a pump severed and an around dropped before it was polled again is not run again.
#[test]
fn a_sever_that_a_dropped_attempt_never_saw_is_not_retried() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let effect = Scripted::new([Act::text("a "), Act::Pump(Arc::clone(&pumps)), Act::Park])
        .then([Act::answer("second")]);
    let severs = Arc::clone(&pumps);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(sever_on("secret")))
        .around(around("drops", move |_, mut next| {
            let severs = Arc::clone(&severs);
            Box::pin(async move {
                let mut run = next.run();
                assert!(futures::poll!(run.as_mut()).is_pending());
                let _ = severs.lock().unwrap()[0].text("secret");
                drop(run);
                next.run().await
            })
        }))
        .effect(effect.clone())
        .build()
        .unwrap();
    is_the_violation(&run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err());
    assert_eq!(effect.executions(), 1);
}

/// D15: after a sever an around can neither run again nor serve what it kept: it gets the same error, over and over.
#[test]
fn after_a_sever_nothing_runs_and_nothing_is_served() {
    let kept: Arc<Mutex<Option<Kept>>> = Arc::default();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let (slot, seen) = (Arc::clone(&kept), Arc::clone(&errors));
    let effect = Scripted::new([Act::answer("kept")]);
    let second = Scripted::new([Act::text("a secret")]).id("leaky");
    let probe = second.clone();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(sever_on("secret")))
        .around(around("keeps", move |_, mut next| {
            let (slot, seen) = (Arc::clone(&slot), Arc::clone(&seen));
            Box::pin(async move {
                let proof = match next.run().await {
                    Ok(proof) => proof,
                    Err(first) => {
                        let again = next.run().await.unwrap_err();
                        let kept = slot.lock().unwrap().clone().unwrap();
                        let served = next.serve(&kept).unwrap_err();
                        seen.lock().unwrap().extend([
                            first.to_string(),
                            again.to_string(),
                            served.to_string(),
                        ]);
                        return Err(again);
                    }
                };
                *slot.lock().unwrap() = next.keep(&proof);
                Ok(proof)
            })
        }))
        .effect(effect)
        .effect(second)
        .build()
        .unwrap();
    run(runtime.invoke_transient("plan", ask("x")).into_future()).unwrap();
    let sink = Recorder::new();
    let error = run(runtime.invoke_transient("leaky", ask("x")).on_delta_sink(sink.clone()).into_future())
        .unwrap_err();
    is_the_violation(&error);
    let errors = errors.lock().unwrap();
    assert!(errors.iter().all(|text| *text == errors[0] && text.contains("word")), "{errors:?}");
    assert_eq!(probe.executions(), 1);
    assert!(sink.log.is_empty(), "no reset after the sever: {:?}", sink.lines());
}
