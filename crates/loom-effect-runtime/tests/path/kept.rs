//! T14: a kept output is served to nobody else: another identity's, another tool's, another runtime's is refused.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Answer, Recorder, Scripted, ask, inspect_with, pass, plan, run};

type Slot = Arc<Mutex<Option<Kept>>>;

/// A stranger's memo with the worst key there is: none at all.
fn careless(slot: &Slot) -> impl Around + use<> {
    let slot = Arc::clone(slot);
    around("careless", move |_, mut next| {
        let slot = Arc::clone(&slot);
        Box::pin(async move {
            let kept = slot.lock().unwrap().clone();
            match kept {
                Some(kept) => next.serve(&kept),
                None => {
                    let proof = next.run().await?;
                    *slot.lock().unwrap() = next.keep(&proof);
                    Ok(proof)
                }
            }
        })
    })
}

fn memoised(slot: &Slot, effect: &Scripted) -> EffectRuntime {
    EffectRuntime::builder()
        .allow_all_calls()
        .around(careless(slot))
        .effect(effect.clone())
        .effect(effect.clone().id("other"))
        .build()
        .unwrap()
}

fn principal(id: &str) -> Identity {
    Identity::new(Principal::new(id))
}

/// T14: the same identity is served what it kept: no second execution, no text, no done, no reset.
#[test]
fn the_same_identity_is_served() {
    let (slot, effect) = (Slot::default(), Scripted::new([Act::text("one")]));
    let runtime = memoised(&slot, &effect);
    let ada = runtime.caller(principal("ada"));
    let tool = plan(&runtime);
    run(ada.invoke_transient(tool, ask("x")).into_future()).unwrap();
    let sink = Recorder::new();
    let (result, report) = run(ada.invoke_transient(tool, ask("x")).on_delta_sink(sink.clone()).reported());
    assert_eq!(result.unwrap().text, "one");
    assert_eq!((effect.executions(), report.attempts, report.streamed), (1, 0, false));
    assert!(sink.log.is_empty());
    let equal = runtime.caller(principal("ada"));
    run(equal.invoke_transient(tool, ask("x")).into_future()).unwrap();
    assert_eq!(effect.executions(), 1, "an equal identity is the same identity");
}

/// T14: through a stranger's careless memo, no two identities ever share a result, nor two tools, nor two runtimes.
#[test]
fn nobody_else_is_served() {
    let (slot, effect) = (Slot::default(), Scripted::new([Act::answer("ada's")]));
    let runtime = memoised(&slot, &effect);
    let ada = || Principal::new("ada");
    run(runtime.caller(Identity::new(ada())).invoke_transient("plan", ask("x")).into_future()).unwrap();
    let run_as = RunAs::new("flow", "e1");
    let strangers = [
        principal("eve"),
        Identity::new(ada().on_behalf_of(["eve"])),
        Identity::new(ada().with_actor("eve")),
        Identity::new(ada().with_delegation(Delegation::new("ada", ["plan"]))),
        Identity::execution(ada(), run_as.clone()),
        Identity::default(),
    ];
    for identity in strangers {
        let what = format!("{identity:?}");
        let caller = runtime.caller(identity);
        let error = run(caller.invoke_transient("plan", ask("x")).into_future()).expect_err(&what);
        assert_eq!(
            (error.name(), error.rule()),
            (ErrorName::CapabilityDenied, Some("kept.identity")),
            "{what}"
        );
    }
    let caller = runtime.caller(principal("ada"));
    for call in [
        caller.invoke_transient("plan", ask("x")).principal(Principal::new("eve")),
        caller.invoke_transient("plan", ask("x")).run_as(run_as),
        caller.invoke_transient("plan", ask("x")).label("eve's"),
        caller.invoke_transient("other", ask("x")),
    ] {
        assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::CapabilityDenied);
    }
    let elsewhere = memoised(&slot, &effect);
    let call = elsewhere.caller(principal("ada")).invoke_transient("plan", ask("x"));
    assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::CapabilityDenied);
    assert_eq!(effect.executions(), 1);
}

/// T14: only inspected output is kept: what the inspectors made of it is what is served.
#[test]
fn what_is_kept_was_inspected() {
    let (slot, effect) = (Slot::default(), Scripted::new([Act::answer("secret")]));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(careless(&slot))
        .output_middleware(inspect("redacts", None, |_, output| {
            output.get_mut::<Answer>().unwrap().text = "[redacted]".to_owned();
            Step::Go
        }))
        .effect(effect)
        .build()
        .unwrap();
    let call = || run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!((call().text, call().text), ("[redacted]".to_owned(), "[redacted]".to_owned()));
}

/// T14: only the last room's output can be kept, and a refusal cannot be.
#[test]
fn only_the_last_good_room_can_be_kept() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(pass()))
        .around(around("keeps", |_, mut next| {
            Box::pin(async move {
                let first = next.run().await?;
                assert!(next.keep(&first).is_some());
                let second = next.run().await?;
                assert!(next.keep(&first).is_none(), "its output is gone");
                assert!(next.keep(&second).is_some());
                next.run().await.unwrap_err();
                assert!(next.keep(&second).is_none(), "a failed attempt took its place");
                next.run().await
            })
        }))
        .effect(
            Scripted::new([Act::answer("1")])
                .then([Act::answer("2")])
                .then([Act::Fail(ErrorName::Provider)])
                .then([Act::answer("4")]),
        )
        .build()
        .unwrap();
    assert_eq!(run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap().text, "4");
}

/// T14: a refused serve opens no room: the view is not reset, the proof before it stays good, a run is still possible.
#[test]
fn a_refused_serve_changes_nothing() {
    let (slot, effect) = (Slot::default(), Scripted::new([Act::text("own")]));
    let foreign = memoised(&slot, &effect);
    run(foreign.invoke_transient("plan", ask("x")).into_future()).unwrap();
    let kept = slot.lock().unwrap().clone().unwrap();
    for run_again in [false, true] {
        let kept = kept.clone();
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .around(around("serves", move |_, mut next| {
                let kept = kept.clone();
                Box::pin(async move {
                    let proof = next.run().await?;
                    assert_eq!(next.serve(&kept).unwrap_err().name(), ErrorName::CapabilityDenied);
                    if run_again { next.run().await } else { Ok(proof) }
                })
            }))
            .effect(effect.clone())
            .build()
            .unwrap();
        let sink = Recorder::new();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        assert_eq!(run(call.into_future()).unwrap().text, "own");
        let resets = usize::from(run_again);
        assert_eq!(sink.lines().iter().filter(|line| line.starts_with("<reset")).count(), resets);
        assert_eq!(sink.fold(), "own");
    }
}

/// D8: an aborted call is not served from a memo either: it fails with the aborter's reason.
#[test]
fn an_aborted_call_is_not_served() {
    let slot = Slot::default();
    let signal = Signal::new();
    let (keeps, raised) = (Arc::clone(&slot), signal.clone());
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(around("serves", move |_, mut next| {
            let (slot, raised) = (Arc::clone(&keeps), raised.clone());
            Box::pin(async move {
                let kept = slot.lock().unwrap().clone();
                if let Some(kept) = kept {
                    raised.abort_with(AbortError::new());
                    return next.serve(&kept);
                }
                let proof = next.run().await?;
                *slot.lock().unwrap() = next.keep(&proof);
                Ok(proof)
            })
        }))
        .effect(Scripted::new([Act::answer("x")]))
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal).on_delta_sink(sink.clone());
    assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::Abort);
    assert!(sink.log.is_empty());
}
