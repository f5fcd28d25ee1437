//! T11: what an around may run again: never a refusal or a sever, and it gets the same error each time.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Log, Recorder, Scripted, ask, plan, run, stubborn};

/// T11: a refusal, whoever raised it, is not run again, and a stubborn around ends with that same error.
#[test]
fn a_refusal_is_never_run_again() {
    for name in ErrorName::ALL.iter().filter(|name| name.is_refusal()) {
        let effect = Scripted::new([Act::Fail(*name)]);
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .around(stubborn(4))
            .effect(effect.clone())
            .build()
            .unwrap();
        let sink = Recorder::new();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        assert_eq!(run(call.into_future()).unwrap_err().name(), *name);
        assert_eq!(effect.executions(), 1, "{name}");
        assert!(sink.log.is_empty(), "{name}: no room was opened");
    }
}

/// T11: every other name may be run again.
#[test]
fn what_is_no_refusal_may_run_again() {
    for name in ErrorName::ALL.iter().filter(|name| !name.is_refusal()) {
        let effect = Scripted::new([Act::Fail(*name)]).then([Act::answer("x")]);
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .around(stubborn(2))
            .effect(effect.clone())
            .build()
            .unwrap();
        run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
        assert_eq!(effect.executions(), 2, "{name}");
    }
}

/// T11: an inspector's refusal is latched as any: the same error again, and nothing executed.
#[test]
fn an_inspectors_refusal_gives_the_same_error_again() {
    let seen: Arc<Mutex<Vec<CallError>>> = Arc::default();
    let errors = Arc::clone(&seen);
    let effect = Scripted::new([Act::answer("x")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect("judge", None, |_, _| Step::Deny(Refusal::safety("judge").at(1, 2))))
        .around(around("asks-again", move |_, mut next| {
            let errors = Arc::clone(&errors);
            Box::pin(async move {
                for _ in 0..3 {
                    let error = next.run().await.unwrap_err();
                    errors.lock().unwrap().push(error);
                }
                next.run().await
            })
        }))
        .effect(effect.clone())
        .build()
        .unwrap();
    let last = run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err();
    assert_eq!(effect.executions(), 1);
    let spans = seen.lock().unwrap().iter().map(|error| error.refusal().unwrap().span()).collect::<Vec<_>>();
    assert_eq!(spans, [Some((1, 2)); 3]);
    assert_eq!(last.refusal(), seen.lock().unwrap()[0].refusal());
}

/// T11: an around's own error over a success is said aloud: it may do so for a timeout or an abort alone.
#[test]
fn an_around_that_drops_a_success_is_reported() {
    let warned = |name: ErrorName| {
        let log = Log::new();
        let told = log.clone();
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .on_warn(move |warning| told.say(format!("{warning:?}")))
            .around(around("drops", move |_, mut next| {
                Box::pin(async move {
                    let _proof = next.run().await?;
                    Err(CallError::named(name, "mine"))
                })
            }))
            .effect(Scripted::new([Act::text("a")]))
            .build()
            .unwrap();
        let sink = Recorder::new();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        assert_eq!(run(call.into_future()).unwrap_err().name(), name);
        assert_eq!(sink.lines(), ["a"], "and no done");
        log.lines()
    };
    assert_eq!(warned(ErrorName::Provider), [r#"SuccessDropped { tool: "plan" }"#]);
    assert!(warned(ErrorName::DeadlineExceeded).is_empty());
}

/// T11: a refusal before the rooms never comes to an around.
#[test]
fn an_around_never_sees_what_is_refused_before_it() {
    let log = Log::new();
    let told = log.clone();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(before("kill", |_, _| Step::Deny(Refusal::quota("kill"))))
        .around(around("sees", move |_, mut next| {
            told.say("asked");
            Box::pin(async move { next.run().await })
        }))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err();
    assert!(log.is_empty());
}

/// T11: an around may ask beforehand whether another run is possible; it is told what `run` would answer, and nothing
/// runs.
#[test]
fn an_around_may_ask_whether_another_run_is_possible() {
    let asked = |effect: Scripted| {
        let log = Log::new();
        let told = log.clone();
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .around(around("asks", move |_, mut next| {
                let told = told.clone();
                Box::pin(async move {
                    told.say(format!("{:?}", next.may_run().map_err(|error| error.name())));
                    let first = next.run().await;
                    told.say(format!("{:?}", next.may_run().map_err(|error| error.name())));
                    first
                })
            }))
            .effect(effect.clone())
            .build()
            .unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::new());
        let _ = run(call.into_future());
        assert_eq!(effect.executions(), 1);
        log.lines().join(" ")
    };
    let provider = || Act::Fail(ErrorName::Provider);
    assert_eq!(asked(Scripted::new([Act::text("a"), provider()])), "Ok(()) Ok(())");
    assert_eq!(asked(Scripted::new([provider()]).once_only()), "Ok(()) Ok(())");
    assert_eq!(asked(Scripted::new([Act::text("a"), provider()]).once_only()), "Ok(()) Err(NotRepeatable)");
    assert_eq!(asked(Scripted::new([Act::Fail(ErrorName::EgressDenied)])), "Ok(()) Err(EgressDenied)");
}
