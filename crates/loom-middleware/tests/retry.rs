//! Retry on a real runtime, in virtual time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code outside a test function")]

#[path = "live/wall.rs"]
mod wall;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loom_effect_runtime::{
    CallError, CallReport, Clock, Effect, EffectContext, EffectDelta, EffectRuntime, ErrorName, Refusal,
    Signal, Step, before, inspect,
};
use loom_middleware::{ATTEMPTS_DEFAULT, DELAY_FIRST_DEFAULT, Retry};
use tokio::time::Instant;

use wall::Wall;

/// What the effect does in one attempt.
#[derive(Clone)]
enum Act {
    /// Writes the pieces, then fails under the name.
    Break(&'static [&'static str], ErrorName),
    /// Writes the pieces and gives their text.
    Give(&'static [&'static str]),
    Panic,
}

struct Scripted {
    acts: Vec<Act>,
    ran: Arc<AtomicU32>,
    repeatable: bool,
}

impl Effect for Scripted {
    type Input = ();
    type Output = String;

    fn id(&self) -> &str {
        "scripted"
    }

    async fn execute(&self, (): &(), cx: &EffectContext<'_>) -> Result<String, CallError> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let act = self.acts.get(cx.attempt() as usize - 1).unwrap_or_else(|| self.acts.last().unwrap());
        let write = |pieces: &[&str]| -> Result<String, CallError> {
            for piece in pieces {
                cx.deltas().text(piece)?;
            }
            Ok(pieces.concat())
        };
        match act {
            Act::Break(pieces, name) => {
                write(pieces)?;
                Err(CallError::named(*name, "scripted"))
            }
            Act::Give(pieces) => write(pieces),
            Act::Panic => panic!("scripted"),
        }
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        self.repeatable
    }
}

/// One call of a scripted effect under a retry.
struct Script {
    acts: Vec<Act>,
    retry: Retry,
    repeatable: bool,
}

/// What came of it.
struct Played {
    result: Result<String, CallError>,
    report: CallReport,
    ran: u32,
    /// The view of a sink: text as it is, `<n>` for a reset, `.` for done.
    view: String,
    took: Duration,
}

impl Script {
    fn new(acts: impl Into<Vec<Act>>) -> Self {
        Self { acts: acts.into(), retry: Retry::new().seed(7), repeatable: true }
    }

    async fn play(self) -> Played {
        let builder = EffectRuntime::builder().allow_all_calls().around(self.retry);
        let ran = Arc::new(AtomicU32::new(0));
        let effect = Scripted { acts: self.acts, ran: Arc::clone(&ran), repeatable: self.repeatable };
        play(builder.effect(effect).build().unwrap(), &ran).await
    }
}

async fn play(runtime: EffectRuntime, ran: &AtomicU32) -> Played {
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let view = Arc::clone(&seen);
    let began = Instant::now();
    let (result, report) = runtime
        .invoke_transient(tool, ())
        .on_delta(move |delta| {
            let mut view = view.lock().unwrap();
            match delta {
                EffectDelta::Text { text, .. } => view.push_str(text.unwrap_tainted()),
                EffectDelta::Reset { attempt, .. } => view.push_str(&format!("<{attempt}>")),
                EffectDelta::Done { .. } => view.push('.'),
                other => panic!("{other:?}"),
            }
        })
        .reported()
        .await;
    let view = seen.lock().unwrap().clone();
    Played { result, report, ran: ran.load(Ordering::SeqCst), view, took: began.elapsed() }
}

/// D11: each new attempt begins with one reset, and what a sink folds equals the output.
#[tokio::test(start_paused = true)]
async fn each_new_attempt_is_one_reset_and_the_fold_is_the_output() {
    let played = Script::new([
        Act::Break(&["one ", "and"], ErrorName::Provider),
        Act::Break(&[], ErrorName::EffectFailed),
        Act::Give(&["thr", "ee"]),
    ])
    .play()
    .await;
    assert_eq!(played.view, "one and<2><3>three.");
    assert_eq!(played.result.unwrap(), "three");
    assert_eq!((played.ran, played.report.attempts), (3, 3));
    assert!(played.report.streamed && played.report.checked);
}

#[tokio::test(start_paused = true)]
async fn the_last_failure_is_what_the_caller_gets_when_every_attempt_fails() {
    let played = Script::new([
        Act::Break(&["a"], ErrorName::EffectFailed),
        Act::Break(&["b"], ErrorName::EffectFailed),
        Act::Break(&["c"], ErrorName::Provider),
    ])
    .play()
    .await;
    assert_eq!(played.result.unwrap_err().name(), ErrorName::Provider);
    assert_eq!((played.ran, ATTEMPTS_DEFAULT), (3, 3));
    assert_eq!(played.view, "a<2>b<3>c");
}

#[tokio::test(start_paused = true)]
async fn pauses_lie_between_attempts_and_repeat_with_their_seed() {
    let failing = || Script::new([Act::Break(&[], ErrorName::Provider)]);
    let retry = Retry::new().seed(7).attempts(6);
    let first = Script { retry: retry.clone(), ..failing() }.play().await;
    let again = Script { retry, ..failing() }.play().await;
    let other = Script { retry: Retry::new().seed(8).attempts(6), ..failing() }.play().await;
    assert_eq!((first.ran, first.took), (6, again.took));
    assert_ne!(first.took, other.took);
    // Five pauses under 250 ms · (1 + 2 + 4 + 8 + 16); five timers round up to a millisecond each.
    assert!(first.took > Duration::ZERO && first.took <= DELAY_FIRST_DEFAULT * 31 + Duration::from_millis(5));
}

/// Callers with the same facts that failed together do not come back together.
#[tokio::test(start_paused = true)]
async fn without_a_seed_calls_with_the_same_facts_pause_differently() {
    let retry = Retry::new().attempts(6);
    let mut took = BTreeSet::new();
    for _ in 0..4 {
        let script = Script { retry: retry.clone(), ..Script::new([Act::Break(&[], ErrorName::Provider)]) };
        took.insert(script.play().await.took);
    }
    assert!(took.len() > 1, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_effect_is_tried_again_only_when_the_closure_says_so() {
    let script = || Script::new([Act::Panic, Act::Give(&["ok"])]);
    let by_default = script().play().await;
    assert_eq!(by_default.result.unwrap_err().name(), ErrorName::EffectPanicked);
    assert_eq!(by_default.ran, 1);
    let retry = Retry::new().when(|error| error.name() == ErrorName::EffectPanicked);
    let asked = Script { retry, ..script() }.play().await;
    assert_eq!((asked.result.unwrap().as_str(), asked.ran), ("ok", 2));
}

/// T11: a refusal before the effect, by an inspector and under a refusal's name is never tried again.
#[tokio::test(start_paused = true)]
async fn a_refusal_runs_once() {
    let eager = || Retry::new().when(|_| true);
    let refused_by_name =
        Script { retry: eager(), ..Script::new([Act::Break(&[], ErrorName::EgressDenied)]) }.play().await;
    assert_eq!(refused_by_name.ran, 1);

    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let ran = Arc::new(AtomicU32::new(0));
    let effect = || Scripted { acts: vec![Act::Give(&["x"])], ran: Arc::clone(&ran), repeatable: true };
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(eager())
        .middleware(before("deny", move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
            Step::Deny(Refusal::quota("deny"))
        }))
        .effect(effect())
        .build()
        .unwrap();
    let played = play(runtime, &ran).await;
    assert_eq!(played.result.unwrap_err().name(), ErrorName::QuotaExceeded);
    assert_eq!((played.ran, asked.load(Ordering::SeqCst), played.view.as_str()), (0, 1, ""));

    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(eager())
        .output_middleware(inspect("judge", None, |_, _| Step::Deny(Refusal::safety("judge"))))
        .effect(effect())
        .build()
        .unwrap();
    let played = play(runtime, &ran).await;
    assert_eq!(played.result.unwrap_err().rule(), Some("judge"));
    assert_eq!(played.ran, 1);
}

/// T11: a severed stream is never tried again.
#[tokio::test(start_paused = true)]
async fn a_sever_runs_once() {
    let ran = Arc::new(AtomicU32::new(0));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new().when(|_| true))
        .output_middleware(inspect("wall", Some(Arc::new(Wall(""))), |_, _| Step::Go))
        .effect(Scripted { acts: vec![Act::Give(&["x"])], ran: Arc::clone(&ran), repeatable: true })
        .build()
        .unwrap();
    let played = play(runtime, &ran).await;
    assert_eq!(played.result.unwrap_err().rule(), Some("wall"));
    assert_eq!((played.ran, played.view.as_str()), (1, ""));
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_is_not_repeatable_runs_once_after_a_delta_and_its_own_failure_is_told() {
    let delivered = Script {
        repeatable: false,
        ..Script::new([Act::Break(&["seen"], ErrorName::Provider), Act::Give(&["no"])])
    };
    let began = tokio::time::Instant::now();
    let played = delivered.play().await;
    assert_eq!(played.result.unwrap_err().name(), ErrorName::Provider);
    assert_eq!((played.ran, played.view.as_str()), (1, "seen"));
    assert_eq!(began.elapsed(), Duration::ZERO, "it does not pause for a run that cannot be");

    let silent = Script {
        repeatable: false,
        ..Script::new([Act::Break(&[], ErrorName::Provider), Act::Give(&["yes"])])
    };
    let played = silent.play().await;
    assert_eq!((played.result.unwrap().as_str(), played.ran), ("yes", 2));
}

/// D8: an abort in a pause ends the call at once, with the aborter's own error.
#[tokio::test(start_paused = true)]
async fn an_abort_ends_the_pause() {
    #[derive(Debug, thiserror::Error)]
    #[error("enough")]
    struct Enough;

    let ran = Arc::new(AtomicU32::new(0));
    let hour = Duration::from_secs(3600);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new().seed(1).backoff(hour, hour))
        .effect(Scripted {
            acts: vec![Act::Break(&[], ErrorName::Provider)],
            ran: Arc::clone(&ran),
            repeatable: true,
        })
        .build()
        .unwrap();
    let signal = Signal::new();
    let reason: loom_effect_runtime::AbortReason = Arc::new(Enough);
    let (aborter, given) = (signal.clone(), Arc::clone(&reason));
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        aborter.abort(given);
    });
    let began = Instant::now();
    let tool = runtime.tool::<(), String>("scripted").unwrap();
    let error = runtime.invoke_transient(tool, ()).signal(signal).await.unwrap_err();
    assert!(Arc::ptr_eq(&error.abort_reason().unwrap(), &reason));
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

/// A clock that cannot wait.
struct NoTimer;

impl Clock for NoTimer {
    fn now_ms(&self) -> u64 {
        0
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _duration: Duration) -> Option<futures::future::BoxFuture<'static, ()>> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_timer_nothing_is_retried() {
    let ran = Arc::new(AtomicU32::new(0));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .clock(NoTimer)
        .around(Retry::new())
        .effect(Scripted {
            acts: vec![Act::Break(&[], ErrorName::Provider), Act::Give(&["x"])],
            ran: Arc::clone(&ran),
            repeatable: true,
        })
        .build()
        .unwrap();
    let played = play(runtime, &ran).await;
    assert_eq!(played.result.unwrap_err().name(), ErrorName::Provider);
    assert_eq!(played.ran, 1);
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_refuses_the_call() {
    let retry = Retry::new().when(|_| panic!("closure"));
    let played = Script { retry, ..Script::new([Act::Break(&[], ErrorName::Provider)]) }.play().await;
    assert_eq!(played.result.unwrap_err().rule(), Some("around.panicked"));
    assert_eq!(played.ran, 1);
}
