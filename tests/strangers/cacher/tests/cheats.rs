//! Cheats of arounds and hooks: each compiles, and each is stopped while it runs.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use loom_effect_runtime::{
    AbortError, Call, CallError, CallInfo, CallReport, DeltaKind, Deltas, Effect, EffectContext, EffectDelta,
    EffectRuntime, ErrorName, Identity, Input, Kept, Meter, MeterForm, Middleware, Next, Opaque, Outcome,
    Principal, Ready, RuntimeBuilder, Signal, Step, Stopped, Violation, around,
};

type Around<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Opaque<'a>, CallError>> + Send + 'a>>;

/// Streams and gives the number of its execution; what it does is decided by its input.
struct Count {
    id: &'static str,
    ran: Arc<AtomicU32>,
    handle: Arc<Mutex<Option<Deltas>>>,
}

impl Count {
    fn new(id: &'static str) -> Self {
        Self { id, ran: Arc::default(), handle: Arc::default() }
    }
}

impl Effect for Count {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        self.id
    }

    async fn execute(&self, input: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        let n = self.ran.fetch_add(1, Ordering::SeqCst) + 1;
        match input.as_str() {
            // The second execution writes what the meter severs, and says Ok.
            "sever-2" if n == 2 => drop(cx.deltas().text("far too long a piece")),
            "fail-2" if n == 2 => return Err(CallError::named(ErrorName::EffectFailed, "asked to")),
            "park-1" if n == 1 => {
                cx.deltas().text("one")?;
                *self.handle.lock().unwrap() = Some(cx.deltas());
                return pending().await;
            }
            _ => cx.deltas().text(&n.to_string())?,
        }
        Ok(n.to_string())
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

/// Severs a piece of more than eight bytes.
struct Short;

impl Middleware for Short {
    fn name(&self) -> &str {
        "short"
    }

    fn meter(&self) -> Option<&dyn MeterForm> {
        Some(self)
    }
}

impl MeterForm for Short {
    fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
        Box::new(Self)
    }
}

impl Meter for Short {
    fn observe(&mut self, _kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
        if bytes > 8 { Err(Violation::quota("short")) } else { Ok(()) }
    }
}

fn builder() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

struct Seen {
    result: Result<String, CallError>,
    report: CallReport,
    view: String,
    ran: u32,
}

/// Calls `count` with the input under the around.
async fn call<F>(input: &str, cheat: F) -> Seen
where
    F: for<'a> Fn(&'a Call, Next<'a>) -> Around<'a> + Send + Sync + 'static,
{
    let count = Count::new("count");
    let ran = Arc::clone(&count.ran);
    let runtime = builder().middleware(Short).around(around("cheat", cheat)).effect(count).build().unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let tool = runtime.tool::<String, String>("count").unwrap();
    let (result, report) = runtime
        .invoke_transient(tool, input.to_owned())
        .on_delta(move |delta| note(&sink, delta))
        .reported()
        .await;
    let view = seen.lock().unwrap().clone();
    Seen { result, report, view, ran: ran.load(Ordering::SeqCst) }
}

fn note(seen: &Mutex<String>, delta: &EffectDelta<'_>) {
    let mut seen = seen.lock().unwrap();
    match delta {
        EffectDelta::Text { text, .. } => seen.push_str(text.unwrap_tainted()),
        EffectDelta::Reset { attempt, .. } => seen.push_str(&format!("<{attempt}>")),
        _ => seen.push('.'),
    }
}

/// D11: an older proof is no proof: the call fails and no `done` is sent.
#[tokio::test]
async fn the_proof_of_an_older_attempt_is_refused() {
    let after_a_good_one = call("", |_, mut next| {
        Box::pin(async move {
            let first = next.run().await?;
            let _second = next.run().await?;
            Ok(first)
        })
    });
    let after_a_failed_one = call("fail-2", |_, mut next| {
        Box::pin(async move {
            let first = next.run().await?;
            let _ = next.run().await;
            Ok(first)
        })
    });
    let after_a_served_one = call("", |_, mut next| {
        Box::pin(async move {
            let first = next.run().await?;
            let kept = next.keep(&first).unwrap();
            let _served = next.serve(&kept)?;
            Ok(first)
        })
    });
    for seen in [after_a_good_one.await, after_a_failed_one.await, after_a_served_one.await] {
        assert_eq!(seen.result.unwrap_err().name(), ErrorName::OutputInvalid);
        assert!(!seen.view.ends_with('.') && !seen.report.streamed, "{}", seen.view);
    }
}

#[tokio::test]
async fn an_older_proof_keeps_nothing() {
    let seen = call("", |_, mut next| {
        Box::pin(async move {
            let first = next.run().await?;
            let second = next.run().await?;
            assert!(next.keep(&first).is_none());
            assert!(next.keep(&second).is_some());
            Ok(second)
        })
    })
    .await;
    assert_eq!((seen.result.unwrap().as_str(), seen.view.as_str()), ("2", "1<2>2."));
}

/// D15: what an around makes of a sever changes nothing: not an older proof, not a new attempt, not a kept output,
/// not an error of its own.
#[tokio::test]
async fn a_sever_stands_whatever_an_around_makes_of_it() {
    let returns_the_older_proof = call("sever-2", |_, mut next| {
        Box::pin(async move {
            let first = next.run().await?;
            let _ = next.run().await;
            Ok(first)
        })
    });
    let runs_again = call("sever-2", |_, mut next| {
        Box::pin(async move {
            let _ = next.run().await?;
            let _ = next.run().await;
            next.run().await
        })
    });
    let serves_a_kept_one = call("sever-2", |_, mut next| {
        Box::pin(async move {
            let first = next.run().await?;
            let kept = next.keep(&first).unwrap();
            let _ = next.run().await;
            next.serve(&kept)
        })
    });
    let gives_its_own_error = call("sever-2", |_, mut next| {
        Box::pin(async move {
            let _ = next.run().await?;
            let _ = next.run().await;
            Err(CallError::named(ErrorName::EffectFailed, "nothing to see"))
        })
    });
    for seen in
        [returns_the_older_proof.await, runs_again.await, serves_a_kept_one.await, gives_its_own_error.await]
    {
        let error = seen.result.unwrap_err();
        assert_eq!((error.name(), error.rule()), (ErrorName::QuotaExceeded, Some("short")));
        assert_eq!((seen.ran, seen.view.as_str()), (2, "1<2>"));
    }
}

/// D15: an around that drops an attempt before the attempt could tell of its sever cannot start another.
#[tokio::test]
async fn dropping_a_severed_attempt_does_not_unsever_it() {
    let count = Count::new("count");
    let (ran, handle) = (Arc::clone(&count.ran), Arc::clone(&count.handle));
    let drops_and_runs_again = around("cheat", move |_, mut next| {
        let handle = Arc::clone(&handle);
        Box::pin(async move {
            let mut first = next.run();
            poll_fn(|cx| {
                assert!(first.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            let pump: Deltas = handle.lock().unwrap().take().unwrap();
            assert!(matches!(pump.text("far too long a piece"), Err(Stopped::Severed(_))));
            drop(first);
            next.run().await
        })
    });
    let runtime = builder().middleware(Short).around(drops_and_runs_again).effect(count).build().unwrap();
    let error = runtime.invoke_transient("count", "park-1".to_owned()).await.unwrap_err();
    assert_eq!(error.rule(), Some("short"));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

/// D16: an attempt that an around ended by dropping it is over: its pump is answered Closed.
#[tokio::test]
async fn a_dropped_attempt_writes_nothing_more() {
    let count = Count::new("count");
    let handle = Arc::clone(&count.handle);
    let times_out = around("timeout", |_, mut next| {
        Box::pin(async move {
            let mut first = next.run();
            poll_fn(|cx| {
                assert!(first.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(first);
            next.run().await
        })
    });
    let runtime = builder().around(times_out).effect(count).build().unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let tool = runtime.tool::<String, String>("count").unwrap();
    let call = runtime.invoke_transient(tool, "park-1".to_owned()).on_delta(move |delta| note(&sink, delta));
    assert_eq!(call.await.unwrap(), "2");
    let pump: Deltas = handle.lock().unwrap().take().unwrap();
    assert!(matches!(pump.text(" late"), Err(Stopped::Closed)));
    assert_eq!(seen.lock().unwrap().as_str(), "one<2>2.");
}

/// Keeps under no key at all: the first output it sees is served to every call.
fn serves_anybody(kept: &Arc<Mutex<Option<Kept>>>) -> impl loom_effect_runtime::Around + use<> {
    let kept = Arc::clone(kept);
    around("serves-anybody", move |_, mut next| {
        let kept = Arc::clone(&kept);
        Box::pin(async move {
            let found = kept.lock().unwrap().clone();
            if let Some(found) = found {
                return next.serve(&found);
            }
            let proof = next.run().await?;
            *kept.lock().unwrap() = next.keep(&proof);
            Ok(proof)
        })
    })
}

/// Two identities, two tools and two runtimes never share a result, whatever the key of the memo.
#[tokio::test]
async fn a_kept_output_is_served_to_its_own_tool_and_identity_alone() {
    let kept = Arc::default();
    let runtime = || {
        let (count, other) = (Count::new("count"), Count::new("other"));
        builder().around(serves_anybody(&kept)).effect(count).effect(other).build().unwrap()
    };
    let (first, second) = (runtime(), runtime());
    let ask = |runtime: &EffectRuntime, who: Principal, tool: &'static str| {
        runtime.caller(Identity::new(who)).invoke_transient(tool, String::new()).into_future()
    };
    let ada = || Principal::new("ada");
    assert_eq!(ask(&first, ada(), "count").await.unwrap(), "1");
    assert_eq!(ask(&first, ada(), "count").await.unwrap(), "1", "its own");
    for (case, strange) in [
        ("identity", ask(&first, Principal::new("bob"), "count")),
        ("actor", ask(&first, ada().with_actor("bob"), "count")),
        ("chain", ask(&first, ada().on_behalf_of(["bob"]), "count")),
        ("tool", ask(&first, ada(), "other")),
        ("runtime", ask(&second, ada(), "count")),
    ] {
        let error = strange.await.unwrap_err();
        assert_eq!(error.name(), ErrorName::CapabilityDenied, "{case}");
        assert!(error.is_refusal(), "{case}");
    }
}

/// D8: an around that waits for ever does not outlive an abort, and one that answers after it answers nothing.
#[tokio::test]
async fn an_around_cannot_outwait_or_outrun_an_abort() {
    let kept: Arc<Mutex<Option<Kept>>> = Arc::default();
    let (count, keep) = (Count::new("count"), Arc::clone(&kept));
    let cheat = around("cheat", move |call, mut next| {
        let keep = Arc::clone(&keep);
        Box::pin(async move {
            let Some(kept) = keep.lock().unwrap().clone() else {
                let proof = next.run().await?;
                *keep.lock().unwrap() = next.keep(&proof);
                return Ok(proof);
            };
            if call.execution_id() == "transient:parks" {
                pending::<()>().await;
            }
            // The signal is raised by now; the kept output is served all the same.
            let _ = call.signal().aborted().await;
            next.serve(&kept)
        })
    });
    let runtime = builder().around(cheat).effect(count).build().unwrap();
    let tool = runtime.tool::<String, String>("count").unwrap();
    for label in ["parks", "serves"] {
        // The first call of each label fills what is kept for its identity.
        *kept.lock().unwrap() = None;
        runtime.invoke_transient(tool, String::new()).label(label).await.unwrap();
        let signal = Signal::new();
        let call =
            runtime.invoke_transient(tool, String::new()).label(label).signal(signal.clone()).into_future();
        let aborter = async {
            tokio::task::yield_now().await;
            signal.abort_with(AbortError::new());
        };
        let (result, ()) = tokio::join!(call, aborter);
        assert_eq!(result.unwrap_err().name(), ErrorName::Abort, "{label}");
    }
}

/// A panic of an around fails the call and nothing else.
#[tokio::test]
async fn an_around_that_panics_fails_its_call() {
    let at_once = call("", |_, _| panic!("at once")).await;
    let after_an_attempt = call("", |_, mut next| {
        Box::pin(async move {
            let _ = next.run().await?;
            panic!("after an attempt")
        })
    })
    .await;
    for seen in [at_once, after_an_attempt] {
        assert_eq!(seen.result.unwrap_err().rule(), Some("around.panicked"));
        assert!(!seen.view.ends_with('.'));
    }
}

/// Who looked, and what it found.
type Found = Vec<(u32, Option<u32>)>;

/// Keeps its own number in `before` and looks for it in `after`.
struct Keeps(u32, Arc<Mutex<Found>>);

impl Middleware for Keeps {
    fn name(&self) -> &str {
        "keeps"
    }

    fn before(&self, call: &Call, _input: &Input) -> Step {
        call.keep(self.0);
        Step::Go
    }

    fn after(&self, call: &Call, _outcome: &Outcome<'_>) {
        self.1.lock().unwrap().push((self.0, call.take_kept::<u32>()));
    }
}

/// Two hooks that keep values of one type each get their own back.
#[tokio::test]
async fn two_hooks_that_keep_one_type_do_not_mix() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let runtime = builder()
        .middleware(Keeps(1, Arc::clone(&taken)))
        .middleware(Keeps(2, Arc::clone(&taken)))
        .middleware(Keeps(3, Arc::clone(&taken)))
        .effect(Count::new("count"))
        .build()
        .unwrap();
    runtime.invoke_transient("count", String::new()).await.unwrap();
    assert_eq!(*taken.lock().unwrap(), [(3, Some(3)), (2, Some(2)), (1, Some(1))]);
}
