//! Cheats of inspectors, guards, effects and sinks: each compiles, and each is stopped while it runs.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::future::pending;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallError, CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Deltas, Effect, EffectContext, EffectDelta,
    EffectRuntime, ErrorName, Lane, Outlet, Output, Ready, RuntimeBuilder, Step, Stopped, Verdict, Violation,
    around, inspect,
};
use tokio::sync::{mpsc, oneshot};

/// A delta form made of a closure that makes guards; every cheat with live text is one.
struct Form<F>(F);

type Push = Box<dyn FnMut(&str, &mut Outlet<'_>) -> Verdict + Send>;

struct Guard(Push);

impl<F: Fn() -> Push + Send + Sync> DeltaForm for Form<F> {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Guard((self.0)()))
    }
}

impl DeltaGuard for Guard {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        (self.0)(text, out)
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

fn form(make: impl Fn() -> Push + Send + Sync + 'static) -> Option<Arc<dyn DeltaForm>> {
    Some(Arc::new(Form(make)))
}

/// Severs a piece that holds the word.
fn wall(word: &'static str) -> Option<Arc<dyn DeltaForm>> {
    form(move || {
        Box::new(move |text, _| match text.contains(word) {
            true => Verdict::Sever(Violation::safety("wall")),
            false => Verdict::Pass,
        })
    })
}

/// An effect made of a closure over its channel.
struct Does<F>(F);

type Doing = std::pin::Pin<Box<dyn Future<Output = Result<String, CallError>> + Send>>;

impl<F: Fn(Deltas, u32) -> Doing + Send + Sync + 'static> Effect for Does<F> {
    type Input = ();
    type Output = String;

    fn id(&self) -> &str {
        "does"
    }

    async fn execute(&self, (): &(), cx: &EffectContext<'_>) -> Result<String, CallError> {
        (self.0)(cx.deltas(), cx.attempt()).await
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

fn does<F: Fn(Deltas, u32) -> Doing + Send + Sync + 'static>(doing: F) -> Does<F> {
    Does(doing)
}

fn says(pieces: &'static [&'static str]) -> Does<impl Fn(Deltas, u32) -> Doing + Send + Sync + 'static> {
    does(move |deltas, _| {
        Box::pin(async move {
            for piece in pieces {
                deltas.text(piece)?;
            }
            Ok(pieces.concat())
        })
    })
}

fn builder() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

/// Calls the effect and gives its result and the view of a sink.
async fn call(builder: RuntimeBuilder<Ready>) -> (Result<String, CallError>, String) {
    let runtime = builder.build().unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let tool = runtime.tool::<(), String>("does").unwrap();
    let result = runtime.invoke_transient(tool, ()).on_delta(move |delta| note(&sink, delta)).await;
    let view = seen.lock().unwrap().clone();
    (result, view)
}

fn note(seen: &Mutex<String>, delta: &EffectDelta<'_>) {
    let mut seen = seen.lock().unwrap();
    match delta {
        EffectDelta::Text { text, .. } => seen.push_str(text.unwrap_tainted()),
        EffectDelta::Reset { attempt, .. } => seen.push_str(&format!("<{attempt}>")),
        _ => seen.push('.'),
    }
}

fn shout(output: &mut Output) -> Step {
    if let Some(text) = output.get_mut::<String>() {
        *text = "[redacted]".to_owned();
    }
    Step::Go
}

/// D11: an inspector that rewrites the output behind a form that does nothing: the live text differs, the call fails
/// and no `done` is sent.
#[tokio::test]
async fn a_rewriting_inspector_with_a_form_that_does_nothing_fails_the_call() {
    let blind_form = form(|| Box::new(|_, _| Verdict::Pass));
    let cheat = inspect("cheat", blind_form, |_, output| shout(output));
    let (result, view) = call(builder().output_middleware(cheat).effect(says(&["hello ", "world"]))).await;
    let error = result.unwrap_err();
    assert_eq!(error.name(), ErrorName::OutputInvalid);
    assert_eq!(view, "hello world", "no done");
    assert!(!error.to_string().contains("world"), "an error echoes no text");
}

/// D11: the other way round: a form that shows a sink what the output never held.
#[tokio::test]
async fn a_form_that_invents_or_swallows_text_fails_the_call() {
    let inventing = || {
        form(|| {
            Box::new(|_, out| {
                out.pass("LIE");
                Verdict::Done
            })
        })
    };
    let doubling = || {
        form(|| {
            Box::new(|text, out| {
                out.pass(text);
                Verdict::Pass
            })
        })
    };
    for cheating in [inventing(), doubling()] {
        let cheat = inspect("cheat", cheating, |_, _| Step::Go);
        let (result, view) = call(builder().output_middleware(cheat).effect(says(&["hello"]))).await;
        assert_eq!(result.unwrap_err().name(), ErrorName::OutputInvalid, "{view}");
    }
    // Swallowing a part: what was delivered is not the whole.
    let halving = form(|| {
        let mut first = true;
        Box::new(move |_, _| if std::mem::take(&mut first) { Verdict::Pass } else { Verdict::Done })
    });
    let cheat = inspect("cheat", halving, |_, _| Step::Go);
    let (result, view) = call(builder().output_middleware(cheat).effect(says(&["hello ", "world"]))).await;
    assert_eq!((result.unwrap_err().name(), view.as_str()), (ErrorName::OutputInvalid, "hello "));
}

/// D10: no form at all blinds the sinks; the output is rewritten all the same.
#[tokio::test]
async fn an_inspector_without_a_form_leaves_no_live_text() {
    let cheat = inspect("cheat", None, |_, output| shout(output));
    let (result, view) = call(builder().output_middleware(cheat).effect(says(&["hello"]))).await;
    assert_eq!((result.unwrap().as_str(), view.as_str()), ("[redacted]", ""));
}

/// D15: a guard in front that hides what a guard behind it decided changes nothing.
#[tokio::test]
async fn an_outer_guard_cannot_ignore_an_inner_violation() {
    let hiding = form(|| {
        Box::new(|text, out| {
            out.pass(text);
            Verdict::Done
        })
    });
    let outer = inspect("outer", hiding, |_, _| Step::Go);
    let inner = inspect("inner", wall("secret"), |_, _| Step::Go);
    let all = builder().output_middleware(outer).output_middleware(inner);
    let (result, view) = call(all.effect(says(&["a ", "secret", " b"]))).await;
    assert_eq!((result.unwrap_err().rule(), view.as_str()), (Some("wall"), "a "));
}

/// A guard or its factory that panics severs; an inspector that panics refuses.
#[tokio::test]
async fn a_panic_of_a_guard_a_factory_or_an_inspector_fails_closed() {
    let panics_in_push = inspect("push", form(|| Box::new(|_, _| panic!("push"))), |_, _| Step::Go);
    let (result, view) = call(builder().output_middleware(panics_in_push).effect(says(&["x"]))).await;
    assert_eq!((result.unwrap_err().name(), view.as_str()), (ErrorName::SafetyViolation, ""));

    let panics_in_factory = inspect("factory", form(|| panic!("factory")), |_, _| Step::Go);
    let (result, view) = call(builder().output_middleware(panics_in_factory).effect(says(&["x"]))).await;
    assert_eq!((result.unwrap_err().name(), view.as_str()), (ErrorName::SafetyViolation, ""));

    let panics = inspect("inspector", wall("-"), |_, _| panic!("inspector"));
    let (result, view) = call(builder().output_middleware(panics).effect(says(&["x"]))).await;
    assert_eq!((result.unwrap_err().name(), view.as_str()), (ErrorName::SafetyViolation, "x"));
}

/// D15: an effect that catches the channel's error and says Ok, or waits for ever, still fails with the violation.
#[tokio::test]
async fn an_effect_cannot_ignore_a_sever() {
    let answers_ok = does(|deltas, _| {
        Box::pin(async move {
            let _ = deltas.text("a secret");
            Ok("fine".to_owned())
        })
    });
    let parks = does(|deltas, _| {
        Box::pin(async move {
            let _ = deltas.text("a secret");
            pending().await
        })
    });
    let masks = does(|deltas, _| {
        Box::pin(async move {
            let _ = deltas.text("a secret");
            Err(CallError::named(ErrorName::EffectFailed, "try again, please"))
        })
    });
    let walled = || builder().output_middleware(inspect("wall", wall("secret"), |_, _| Step::Go));
    for (result, view) in [
        call(walled().effect(answers_ok)).await,
        call(walled().effect(parks)).await,
        call(walled().effect(masks)).await,
    ] {
        let error = result.unwrap_err();
        assert_eq!((error.rule(), view.as_str()), (Some("wall"), ""));
        assert!(error.is_refusal());
    }
}

/// D15: a pump on another task is severed while its effect sleeps: the effect is woken and dropped.
#[tokio::test]
async fn a_sever_from_a_pump_ends_an_effect_that_sleeps() {
    struct TellsDrop(Option<oneshot::Sender<()>>);
    impl Drop for TellsDrop {
        fn drop(&mut self) {
            let _ = self.0.take().map(|tell| tell.send(()));
        }
    }
    let (tell, dropped) = oneshot::channel();
    let tell = Mutex::new(Some(tell));
    let effect = does(move |deltas, _| {
        let on_drop = TellsDrop(tell.lock().unwrap().take());
        Box::pin(async move {
            let _on_drop = on_drop;
            tokio::spawn(async move { deltas.text("a secret") });
            pending().await
        })
    });
    let walled = builder().output_middleware(inspect("wall", wall("secret"), |_, _| Step::Go));
    let (result, view) = call(walled.effect(effect)).await;
    assert_eq!((result.unwrap_err().rule(), view.as_str()), (Some("wall"), ""));
    dropped.await.unwrap();
}

/// D6: what is written once the call has settled goes nowhere.
#[tokio::test]
async fn a_handle_that_outlives_its_call_writes_nothing() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let effect = does(move |deltas, _| {
        *keep.lock().unwrap() = Some(deltas.clone());
        Box::pin(async move {
            deltas.text("hello")?;
            Ok("hello".to_owned())
        })
    });
    let runtime = builder().effect(effect).build().unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let tool = runtime.tool::<(), String>("does").unwrap();
    runtime.invoke_transient(tool, ()).on_delta(move |delta| note(&sink, delta)).await.unwrap();
    let handle: Deltas = kept.lock().unwrap().take().unwrap();
    assert!(matches!(handle.text(" again"), Err(Stopped::Closed)));
    handle.end(None);
    assert_eq!(seen.lock().unwrap().as_str(), "hello.");
}

/// D16: a writer of attempt 1 that was not awaited reaches nothing of attempt 2.
#[tokio::test]
async fn a_writer_of_an_earlier_attempt_reaches_nothing_of_the_next() {
    let (late, mut answers) = mpsc::unbounded_channel();
    let first = Arc::new(Mutex::new(None::<Deltas>));
    let effect = does(move |deltas, attempt| {
        let (late, first) = (late.clone(), Arc::clone(&first));
        Box::pin(async move {
            deltas.text(if attempt == 1 { "one" } else { "two" })?;
            if attempt == 1 {
                *first.lock().unwrap() = Some(deltas);
                return Err(CallError::named(ErrorName::EffectFailed, "cut"));
            }
            let stale = first.lock().unwrap().take().unwrap();
            late.send(stale.text(" LATE")).unwrap();
            Ok("two".to_owned())
        })
    });
    let again = around("again", |_, mut next| {
        Box::pin(async move {
            match next.run().await {
                Ok(proof) => Ok(proof),
                Err(_) => next.run().await,
            }
        })
    });
    let (result, view) = call(builder().around(again).effect(effect)).await;
    assert_eq!((result.unwrap().as_str(), view.as_str()), ("two", "one<2>two."));
    assert!(matches!(answers.recv().await, Some(Err(Stopped::Closed))));
}

/// D6: a sink that writes back into the channel that called it is refused, not deadlocked.
#[tokio::test]
async fn a_sink_that_writes_back_is_refused() {
    let handle = Arc::new(Mutex::new(None::<Deltas>));
    let give = Arc::clone(&handle);
    let effect = does(move |deltas, _| {
        *give.lock().unwrap() = Some(deltas.clone());
        Box::pin(async move {
            deltas.text("hello")?;
            Ok("hello".to_owned())
        })
    });
    let runtime = builder().effect(effect).build().unwrap();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&answers);
    let tool = runtime.tool::<(), String>("does").unwrap();
    let output = runtime
        .invoke_transient(tool, ())
        .on_delta(move |_| {
            let deltas = handle.lock().unwrap().clone().unwrap();
            heard.lock().unwrap().push(deltas.text("echo"));
        })
        .await
        .unwrap();
    assert_eq!(output, "hello");
    let answers = answers.lock().unwrap();
    assert!(
        answers.iter().all(|answer| matches!(answer, Err(Stopped::Busy | Stopped::Closed))),
        "{answers:?}"
    );
    assert_eq!(answers.len(), 2);
}
