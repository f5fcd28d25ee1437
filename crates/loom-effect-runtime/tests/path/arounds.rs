//! Arounds: only the last room's proof is accepted; serving opens a room of its own; `keep` is keyed by hook.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Log, Recorder, Scripted, ask, plan, run};

fn plain() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

/// D11: attempt 1's proof, after attempt 2 ran, fails the call: what it stood for is gone.
#[test]
fn a_stale_proof_is_refused() {
    let effect = Scripted::new([Act::answer("one")]).then([Act::answer("two")]);
    let runtime = plain()
        .around(around("stale", |_, mut next| {
            Box::pin(async move {
                let first = next.run().await?;
                let _second = next.run().await?;
                Ok(first)
            })
        }))
        .effect(effect.clone())
        .build()
        .unwrap();
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::OutputInvalid);
    assert_eq!(effect.executions(), 2);
    assert_eq!(sink.lines(), ["<reset 2>"]);
}

/// D11: a proof is stale too once a later attempt failed, or was dropped in the middle.
#[test]
fn a_proof_is_stale_once_a_later_attempt_began() {
    for second in [Act::Fail(ErrorName::Provider), Act::Park] {
        let effect = Scripted::new([Act::answer("one")]).then([second]);
        let runtime = plain()
            .around(around("stale", |_, mut next| {
                Box::pin(async move {
                    let first = next.run().await?;
                    let mut again = next.run();
                    let _ = futures::poll!(again.as_mut());
                    drop(again);
                    Ok(first)
                })
            }))
            .effect(effect)
            .build()
            .unwrap();
        let error = run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err();
        assert_eq!(error.name(), ErrorName::OutputInvalid);
    }
}

/// D11: a run that was asked for and never polled opened no room: the proof before it is still the last.
#[test]
fn a_run_that_was_never_polled_changes_nothing() {
    let runtime = plain()
        .around(around("lazy", |_, mut next| {
            Box::pin(async move {
                let first = next.run().await?;
                drop(next.run());
                Ok(first)
            })
        }))
        .effect(Scripted::new([Act::answer("one")]))
        .build()
        .unwrap();
    assert_eq!(run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap().text, "one");
}

/// D11: where a further attempt is refused before it begins (not repeatable), the last room's proof is still good.
#[test]
fn a_refused_run_leaves_the_last_proof_good() {
    let effect = Scripted::new([Act::text("one")]).once_only();
    let runtime = plain()
        .around(around("again", |_, mut next| {
            Box::pin(async move {
                let first = next.run().await?;
                assert_eq!(next.run().await.unwrap_err().name(), ErrorName::NotRepeatable);
                Ok(first)
            })
        }))
        .effect(effect.clone())
        .build()
        .unwrap();
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    assert_eq!(run(call.into_future()).unwrap().text, "one");
    assert_eq!((effect.executions(), sink.lines()), (1, vec!["one".to_owned(), "<done>".to_owned()]));
}

/// D11: nested arounds run outermost first, and each run of the outer one runs the inner one again.
#[test]
fn nested_arounds_run_outermost_first() {
    let log = Log::new();
    let telling = |name: &'static str, times: usize| {
        let log = log.clone();
        around(name, move |_, mut next| {
            let log = log.clone();
            Box::pin(async move {
                for _ in 1..times {
                    log.say(format!("{name} in"));
                    let _proof = next.run().await?;
                    log.say(format!("{name} out"));
                }
                log.say(format!("{name} in"));
                let proof = next.run().await;
                log.say(format!("{name} out"));
                proof
            })
        })
    };
    let effect = Scripted::new([Act::answer("x")]);
    let runtime = plain()
        .around(telling("outer", 2))
        .around(telling("inner", 2))
        .effect(effect.clone())
        .build()
        .unwrap();
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let (result, report) = run(call.reported());
    result.unwrap();
    assert_eq!((effect.executions(), report.attempts), (4, 4));
    assert_eq!(sink.lines(), ["<reset 2>", "<reset 3>", "<reset 4>"]);
    let inner = ["inner in", "inner out", "inner in", "inner out"];
    let once = [&["outer in"][..], &inner, &["outer out"]].concat();
    assert_eq!(log.lines(), [once.clone(), once].concat());
}

/// D11: stale-on-error: serving a kept output after a failed stream resets the view, has no text and no done.
#[test]
fn serving_opens_a_room_of_its_own() {
    let kept: Arc<Mutex<Option<Kept>>> = Arc::default();
    let effect = Scripted::new([Act::text("good")]);
    let broken = Arc::new(Mutex::new(false));
    let breaks = Arc::clone(&broken);
    let effect = FailsWhen { inner: effect, breaks };
    let runtime = plain()
        .around(around("stale-on-error", move |_, mut next| {
            let kept = Arc::clone(&kept);
            Box::pin(async move {
                match next.run().await {
                    Ok(proof) => {
                        *kept.lock().unwrap() = next.keep(&proof);
                        Ok(proof)
                    }
                    Err(_) => {
                        let old = kept.lock().unwrap().clone().unwrap();
                        next.serve(&old)
                    }
                }
            })
        }))
        .effect(effect)
        .build()
        .unwrap();
    let (sink, tool) = (Recorder::new(), plan(&runtime));
    let call = |sink: &Recorder| runtime.invoke_transient(tool, ask("x")).on_delta_sink(sink.clone());
    assert_eq!(run(call(&sink).into_future()).unwrap().text, "good");
    *broken.lock().unwrap() = true;
    let sink = Recorder::new();
    let (result, report) = run(call(&sink).reported());
    assert_eq!(result.unwrap().text, "good");
    assert_eq!(sink.lines(), ["bad", "<reset 2>"]);
    assert_eq!((report.attempts, report.streamed, report.checked), (1, false, false));
}

/// D11: serving what was just streamed clears the view all the same: it is another room, and it did not stream.
#[test]
fn serving_after_a_good_stream_is_no_stream() {
    let runtime = plain()
        .around(around("serves", |_, mut next| {
            Box::pin(async move {
                let proof = next.run().await?;
                let kept = next.keep(&proof).unwrap();
                next.serve(&kept)
            })
        }))
        .effect(Scripted::new([Act::text("good"), Act::End(None)]))
        .build()
        .unwrap();
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let (result, report) = run(call.reported());
    assert_eq!(result.unwrap().text, "good");
    assert_eq!(sink.lines(), ["good", "<reset 2>"]);
    assert_eq!((report.streamed, report.checked), (false, false));
}

/// Streams `bad` and fails once it is told to.
struct FailsWhen {
    inner: Scripted,
    breaks: Arc<Mutex<bool>>,
}

impl Effect for FailsWhen {
    type Input = crate::support::Ask;
    type Output = crate::support::Answer;
    fn id(&self) -> &str {
        "plan"
    }
    async fn execute(&self, input: &Self::Input, cx: &EffectContext<'_>) -> Result<Self::Output, CallError> {
        let breaks = *self.breaks.lock().unwrap();
        if breaks {
            cx.deltas().text("bad")?;
            return Err(CallError::named(ErrorName::Provider, "broken"));
        }
        self.inner.execute(input, cx).await
    }
    fn live_text(output: &Self::Output, piece: &mut dyn FnMut(&str)) -> bool {
        Scripted::live_text(output, piece)
    }
}

/// D2: two middlewares that keep values of one type get their own back; what is not taken is dropped with the call.
#[test]
fn keep_is_keyed_by_hook() {
    struct Keeps(&'static str, u32, Log);
    impl Middleware for Keeps {
        fn name(&self) -> &str {
            self.0
        }
        fn before(&self, call: &Call, _: &Input) -> Step {
            call.keep(0_u32);
            call.keep(self.1);
            Step::Go
        }
        fn after(&self, call: &Call, _: &Outcome<'_>) {
            let other = call.take_kept::<String>();
            self.2.say(format!(
                "{} {other:?} {:?} {:?}",
                self.0,
                call.take_kept::<u32>(),
                call.take_kept::<u32>()
            ));
        }
    }
    let log = Log::new();
    let runtime = plain()
        .middleware(Keeps("a", 1, log.clone()))
        .middleware(Keeps("b", 2, log.clone()))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!(log.lines(), ["b None Some(2) None", "a None Some(1) None"]);
}

/// D2: what the authorizer or a rewriter keeps is not handed to the first middleware.
#[test]
fn a_middleware_never_gets_what_another_kind_of_hook_kept() {
    let log = Log::new();
    let told = log.clone();
    let runtime = EffectRuntime::builder()
        .authorizer(authorize(|call, _| {
            call.keep(7_u32);
            Step::Go
        }))
        .input_middleware(rewrite("keeps", |call, _| {
            call.keep(8_u32);
            Step::Go
        }))
        .middleware(after("takes", move |call, _| told.say(format!("{:?}", call.take_kept::<u32>()))))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!(log.lines(), ["None"]);
}

/// D2: what an around or an inspector keeps is not handed to the last middleware either.
#[test]
fn a_middleware_never_gets_what_runs_behind_it_kept() {
    let log = Log::new();
    let told = log.clone();
    let runtime = plain()
        .middleware(after("takes", move |call, _| told.say(format!("{:?}", call.take_kept::<u32>()))))
        .around(around("keeps", |call, mut next| {
            call.keep(7_u32);
            Box::pin(async move { next.run().await })
        }))
        .output_middleware(inspect("keeps", None, |call, _| {
            call.keep(8_u32);
            Step::Go
        }))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!(log.lines(), ["None"]);
}

/// D2: what a hook keeps is dropped when the caller drops the call, and `after` does not run then.
#[test]
fn what_is_kept_is_dropped_with_the_call() {
    let log = Log::new();
    let told = log.clone();
    let permit = Arc::new(());
    let kept = Arc::clone(&permit);
    let runtime = plain()
        .middleware(before("keeps", move |call, _| {
            call.keep(Arc::clone(&kept));
            Step::Go
        }))
        .middleware(after("tells", move |_, _| told.say("after")))
        .effect(Scripted::new([Act::Park]))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).into_future();
    run(async {
        let mut call = Box::pin(call);
        assert!(futures::poll!(call.as_mut()).is_pending());
        assert_eq!(Arc::strong_count(&permit), 3);
    });
    assert_eq!(Arc::strong_count(&permit), 2);
    assert!(log.is_empty());
}
