//! D8: signals compose; an abort ends the call with the aborter's own reason, at once, and drops the effect.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Recorder, Scripted, Told, ask, hold_all, inspect_with, plan, run};

#[derive(Debug, thiserror::Error)]
#[error("the user went away")]
struct WentAway;

fn same(a: &AbortReason, b: &AbortReason) -> bool {
    Arc::ptr_eq(a, b)
}

fn over(effect: Scripted) -> EffectRuntime {
    EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap()
}

/// Runs a call, and aborts it as soon as it waits.
async fn abort_while_it_waits<F: Future>(call: F, signal: &Signal, reason: AbortReason) -> F::Output {
    let mut call = Box::pin(call);
    assert!(futures::poll!(call.as_mut()).is_pending());
    signal.abort(reason);
    call.await
}

/// D8: the reason comes back pointer-equal, the future is dropped, and nothing is delivered afterwards.
#[test]
fn an_abort_gives_the_callers_own_reason_and_drops_the_effect() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let effect = Scripted::new([Act::text("a"), Act::Pump(Arc::clone(&pumps)), Act::Park]);
    let runtime = over(effect.clone());
    let sink = Recorder::new();
    let signal = Signal::new();
    let reason: AbortReason = Arc::new(WentAway);
    let call =
        runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal.clone()).on_delta_sink(sink.clone());
    let error = run(abort_while_it_waits(call.into_future(), &signal, Arc::clone(&reason))).unwrap_err();
    assert!(same(&error.abort_reason().unwrap(), &reason));
    assert!(error.abort_reason().unwrap().is::<WentAway>());
    assert_eq!((error.name(), error.is_refusal()), (ErrorName::Abort, true));
    assert!(std::error::Error::source(&error).is_some_and(|source| source.is::<WentAway>()));
    assert_eq!(effect.dropped(), 1);
    assert!(pumps.lock().unwrap()[0].text("late").is_err());
    assert_eq!(sink.lines(), ["a"]);
}

/// D8: any of three composed signals ends the call; the first raised one's reason stands.
#[test]
fn any_of_the_composed_signals_ends_the_call() {
    for raised in 0..3 {
        let signals = [(); 3].map(|()| Signal::new());
        let effect = Scripted::new([Act::Park]);
        let runtime = over(effect.clone());
        let mut call = runtime.invoke_transient(plan(&runtime), ask("x"));
        for signal in &signals {
            call = call.signal(signal.clone());
        }
        let reason: AbortReason = Arc::new(WentAway);
        let ended = run(abort_while_it_waits(call.into_future(), &signals[raised], Arc::clone(&reason)));
        assert!(same(&ended.unwrap_err().abort_reason().unwrap(), &reason));
        assert_eq!(effect.dropped(), 1);
    }
    let signal = Signal::new();
    let first: AbortReason = Arc::new(WentAway);
    assert!(signal.abort(Arc::clone(&first)));
    assert!(!signal.abort_with(AbortError::new()), "the first reason stands");
    assert!(same(&signal.reason().unwrap(), &first));
}

/// D8: the waiting call is woken by the abort, with nobody else polling it.
#[test]
fn an_abort_wakes_the_call() {
    let runtime = over(Scripted::new([Act::Park]));
    let signal = Signal::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal.clone());
    let error = run(async {
        let waiting = tokio::spawn(call.into_future());
        tokio::task::yield_now().await;
        std::thread::spawn(move || signal.abort_with(WentAway)).join().unwrap();
        waiting.await.unwrap().unwrap_err()
    });
    assert!(error.abort_reason().unwrap().is::<WentAway>());
}

/// D8: a call whose signal was raised in mid-attempt fails, although its effect ignores it and answers.
#[test]
fn an_effect_that_ignores_the_abort_cannot_succeed() {
    let signal = Signal::new();
    let raised = signal.clone();
    let effect = Scripted::new([
        Act::text("a"),
        Act::with(move |cx| {
            raised.abort_with(WentAway);
            assert!(cx.signal().is_aborted());
        }),
        Act::swallow("b"),
    ]);
    for effect in [effect.clone(), effect.ready_lane()] {
        let runtime = over(effect);
        let sink = Recorder::new();
        let call = runtime.invoke_transient(plan(&runtime), ask("x"));
        let call = call.signal(signal.clone()).on_delta_sink(sink.clone());
        let error = run(call.into_future()).unwrap_err();
        assert!(error.abort_reason().unwrap().is::<WentAway>());
        assert!(sink.lines().len() <= 1, "nothing after the abort: {:?}", sink.lines());
    }
}

/// D8: an effect that writes is told of the abort at its next delta.
#[test]
fn a_writer_is_told_of_the_abort_at_its_next_delta() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let runtime = over(Scripted::new([Act::Pump(Arc::clone(&pumps)), Act::Park]));
    let signal = Signal::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal.clone());
    run(async {
        let mut call = Box::pin(call.into_future());
        assert!(futures::poll!(call.as_mut()).is_pending());
        let reason: AbortReason = Arc::new(WentAway);
        signal.abort(Arc::clone(&reason));
        let pump = pumps.lock().unwrap()[0].clone();
        let Err(Stopped::Aborted(told)) = pump.text("late") else { panic!("the writer is stopped") };
        assert!(same(&told, &reason));
        let error = CallError::from(Stopped::Aborted(told));
        assert!(same(&error.abort_reason().unwrap(), &reason));
    });
}

/// D8: hooks that were admitted hear of the abort.
#[test]
fn after_hooks_hear_of_the_abort() {
    let log = crate::support::Log::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(Told("a", log.clone()))
        .effect(Scripted::new([Act::Park]))
        .build()
        .unwrap();
    let signal = Signal::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal.clone());
    run(abort_while_it_waits(call.into_future(), &signal, Arc::new(AbortError::new()))).unwrap_err();
    assert_eq!(log.lines(), ["before a", "after a AbortError"]);
}

/// D8: a waiting hook, an inspector and an around that wait are ended by the abort too.
#[test]
fn whatever_waits_is_ended_by_an_abort() {
    let forever = || before_wait("parks", |_, _| Box::pin(std::future::pending()));
    let parks = || around("parks", |_, _next| Box::pin(std::future::pending()));
    let backs_off = || {
        around("backs-off", |_, mut next| {
            Box::pin(async move {
                let _ = next.run().await;
                std::future::pending().await
            })
        })
    };
    let plain = || EffectRuntime::builder().allow_all_calls();
    let failing = || Scripted::new([Act::Fail(ErrorName::Provider)]);
    for (what, builder) in [
        ("before_wait", plain().middleware(forever()).effect(failing())),
        ("around", plain().around(parks()).effect(failing())),
        ("around between attempts", plain().around(backs_off()).effect(failing())),
        ("around after a success", plain().around(backs_off()).effect(Scripted::new([]))),
        ("inspect_wait", plain().output_middleware(Parks).effect(Scripted::new([]))),
    ] {
        let runtime = builder.build().unwrap();
        let signal = Signal::new();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal.clone()).into_future();
        let ended = run(async {
            let call = tokio::spawn(call);
            tokio::task::yield_now().await;
            signal.abort_with(WentAway);
            tokio::time::timeout(std::time::Duration::from_secs(2), call).await
        });
        let error =
            ended.unwrap_or_else(|_| panic!("{what}: the abort did not end it")).unwrap().unwrap_err();
        assert!(error.abort_reason().is_some_and(|reason| reason.is::<WentAway>()), "{what}");
    }
}

struct Parks;

impl OutputMiddleware for Parks {
    fn name(&self) -> &str {
        "parks"
    }
    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Wait
    }
    fn inspect_wait<'a>(&'a self, _call: &'a Call, _output: &'a mut Output) -> Waiting<'a> {
        Box::pin(std::future::pending())
    }
    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        None
    }
}

/// D8: an abort that a sink raises while held tails flow out fails the call; it does not succeed with half a view.
#[test]
fn an_abort_while_tails_flow_out_fails_the_call() {
    let signal = Signal::new();
    let raised = signal.clone();
    let configured = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(hold_all()))
        .effect(Scripted::new([Act::text("held")]).sink(configured.clone()))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal);
    let call = call.on_delta(move |_| {
        raised.abort_with(WentAway);
    });
    let result = run(call.into_future());
    assert!(configured.lines().is_empty(), "the abort was observable before its turn");
    assert!(result.unwrap_err().abort_reason().unwrap().is::<WentAway>());
}

/// D6: an abort that an `after` hook raises is observable, so nothing is delivered after it, done included.
#[test]
fn no_done_after_an_observable_abort() {
    let signal = Signal::new();
    let raised = signal.clone();
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(after("aborts", move |_, _| {
            raised.abort_with(WentAway);
        }))
        .effect(Scripted::new([Act::text("a")]))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal).on_delta_sink(sink.clone());
    let _ = run(call.into_future());
    assert_eq!(sink.lines(), ["a"]);
}
