//! The honest cacher on a real runtime.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use loom_effect_runtime::engine::EngineCall;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallError, CallReport, Caller, DeltaForm, DeltaGuard, DeltaKinds, DurableStep, Effect, EffectContext,
    EffectDelta, EffectRuntime, ErrorName, Identity, Lane, Outlet, Principal, Refusal, Step, Verdict,
    Violation, around, before, inspect,
};
use stranger_cacher::Cacher;

/// Streams and gives `<input>#<n>`, n counting its executions; fails under the name that the input gives.
struct Count {
    id: &'static str,
    ran: Arc<AtomicU32>,
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
            "fail" => return Err(CallError::named(ErrorName::EffectFailed, "asked to")),
            "refuse" => return Err(Refusal::quota("asked_to").into()),
            _ => {}
        }
        let output = format!("{input}#{n}");
        cx.deltas().text(&output)?;
        Ok(output)
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

struct Bench {
    runtime: EffectRuntime,
    ran: Arc<AtomicU32>,
}

impl Bench {
    fn new(capacity: usize) -> Self {
        Self::with(Cacher::new(capacity).tool("count"))
    }

    fn with(cacher: Cacher) -> Self {
        let ran = Arc::new(AtomicU32::new(0));
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .around(cacher)
            .effect(Count { id: "count", ran: Arc::clone(&ran) })
            .effect(Count { id: "other", ran: Arc::clone(&ran) })
            .build()
            .unwrap();
        Self { runtime, ran }
    }

    async fn call(&self, input: &str) -> (Result<String, CallError>, CallReport, String) {
        call(&self.runtime.caller(Identity::default()), input).await
    }

    fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }
}

/// The result, the report and the view of a sink: `.` is done, `<n>` a reset.
async fn call(caller: &Caller, input: &str) -> (Result<String, CallError>, CallReport, String) {
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let (result, report) = caller
        .invoke_transient("count", input.to_owned())
        .on_delta(move |delta| {
            let mut seen = sink.lock().unwrap();
            match delta {
                EffectDelta::Text { text, .. } => seen.push_str(text.unwrap_tainted()),
                EffectDelta::Reset { attempt, .. } => seen.push_str(&format!("<{attempt}>")),
                _ => seen.push('.'),
            }
        })
        .reported()
        .await;
    let result = result.map(|json| json.as_str().unwrap().to_owned());
    let view = seen.lock().unwrap().clone();
    (result, report, view)
}

/// D11: a hit runs nothing; where nothing streamed the fold is empty, no done is sent, and the report says so.
#[tokio::test]
async fn a_hit_serves_the_kept_output_and_streams_nothing() {
    let bench = Bench::new(8);
    let (first, _, view) = bench.call("a").await;
    assert_eq!((first.unwrap().as_str(), view.as_str()), ("a#1", "a#1."));
    let (again, report, view) = bench.call("a").await;
    assert_eq!((again.unwrap().as_str(), view.as_str()), ("a#1", ""));
    assert_eq!((report.attempts, report.streamed, bench.ran()), (0, false, 1));
}

#[tokio::test]
async fn another_input_another_tool_and_a_tool_that_is_not_named_run_for_themselves() {
    let bench = Bench::new(8);
    assert_eq!(bench.call("a").await.0.unwrap(), "a#1");
    assert_eq!(bench.call("b").await.0.unwrap(), "b#2");
    for n in [3, 4] {
        let other = bench.runtime.invoke_transient("other", "a".to_owned()).await.unwrap();
        assert_eq!(other, format!("a#{n}"), "`other` is not cached");
    }
    let both = Bench::with(Cacher::new(8).tool("count").tool("other"));
    assert_eq!(both.call("a").await.0.unwrap(), "a#1");
    assert_eq!(both.runtime.invoke_transient("other", "a".to_owned()).await.unwrap(), "a#2");
}

/// Whoever differs in anything that decides who may see a result does not get another's.
#[tokio::test]
async fn two_identities_never_share_a_result() {
    let bench = Bench::new(64);
    let ada = Principal::new("ada");
    let identities = [
        ada.clone(),
        Principal::new("bob"),
        ada.clone().on_behalf_of(["bob"]),
        ada.clone().with_actor("bob"),
        ada.with_delegation(loom_effect_runtime::Delegation::new("bob", ["count"])),
    ];
    for round in 0..2 {
        for (at, principal) in identities.iter().enumerate() {
            let caller = bench.runtime.caller(Identity::new(principal.clone()));
            let own = call(&caller, "a").await.0.unwrap();
            assert_eq!(own, format!("a#{}", at + 1), "round {round}");
        }
    }
    let labelled = bench.runtime.invoke_transient("count", "a".to_owned()).label("x").await.unwrap();
    let bare = bench.runtime.invoke_transient("count", "a".to_owned()).await.unwrap();
    assert_ne!(labelled, bare);
}

/// T11: a refusal and a failure are never kept; what comes later runs again.
#[tokio::test]
async fn refusals_and_failures_are_not_kept() {
    let bench = Bench::new(8);
    for (input, name) in [("fail", ErrorName::EffectFailed), ("refuse", ErrorName::QuotaExceeded)] {
        let before = bench.ran();
        for _ in 0..2 {
            assert_eq!(bench.call(input).await.0.unwrap_err().name(), name);
        }
        assert_eq!(bench.ran(), before + 2);
    }
}

/// A hit is a governed call like any other: what is refused today is refused, whatever was kept yesterday.
#[tokio::test]
async fn a_kept_output_does_not_get_past_a_refusal() {
    let ran = Arc::new(AtomicU32::new(0));
    let calls = AtomicU32::new(0);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(before("once", move |_, _| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Step::Go,
            _ => Step::Deny(Refusal::quota("once")),
        }))
        .around(Cacher::new(8).tool("count"))
        .effect(Count { id: "count", ran })
        .build()
        .unwrap();
    let caller = runtime.caller(Identity::default());
    assert_eq!(call(&caller, "a").await.0.unwrap(), "a#1");
    assert_eq!(call(&caller, "a").await.0.unwrap_err().rule(), Some("once"));
}

#[tokio::test]
async fn the_oldest_output_makes_room() {
    let bench = Bench::new(2);
    for (input, output) in
        [("a", "a#1"), ("b", "b#2"), ("c", "c#3"), ("b", "b#2"), ("c", "c#3"), ("a", "a#4")]
    {
        assert_eq!(bench.call(input).await.0.unwrap(), output);
    }
}

#[tokio::test]
async fn a_recorded_step_is_not_served_from_the_cache() {
    let bench = Bench::new(8);
    let caller = bench.runtime.caller(Identity::default());
    for n in 1..=2 {
        let step = DurableStep::new("step", format!("execution:step~{n}"));
        let output = caller.invoke_transient("count", "a".to_owned()).durable(step).await.unwrap();
        assert_eq!(output, format!("a#{n}"));
    }
}

/// Replaces the number sign in live text.
struct Starred;

impl DeltaForm for Starred {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &loom_effect_runtime::CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Self)
    }
}

impl DeltaGuard for Starred {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        out.pass(&text.replace('#', "*"));
        Verdict::Done
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// What is kept was inspected, so what is served was too.
#[tokio::test]
async fn what_is_served_is_the_inspected_output() {
    let starred = inspect("starred", Some(Arc::new(Starred)), |_, output| {
        if let Some(text) = output.get_mut::<String>() {
            *text = text.replace('#', "*");
        }
        Step::Go
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(starred)
        .around(Cacher::new(8).tool("count"))
        .effect(Count { id: "count", ran: Arc::default() })
        .build()
        .unwrap();
    let caller = runtime.caller(Identity::default());
    for _ in 0..2 {
        assert_eq!(call(&caller, "a").await.0.unwrap(), "a*1");
    }
}

/// D11: a hit after an attempt of the same call failed opens a room of its own: a reset, no text, no done.
#[tokio::test]
async fn a_hit_after_a_failed_stream_resets_the_view() {
    struct Fails(AtomicU32);
    impl Effect for Fails {
        type Input = String;
        type Output = String;
        fn id(&self) -> &str {
            "count"
        }
        async fn execute(&self, _input: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
            match self.0.fetch_add(1, Ordering::SeqCst) {
                0 => Ok("good".to_owned()),
                _ => {
                    cx.deltas().text("bad")?;
                    Err(CallError::named(ErrorName::Provider, "cut"))
                }
            }
        }
    }
    // Serves what it kept when a fresh run fails.
    let kept = Arc::new(Mutex::new(None));
    let stale_on_error = around("stale-on-error", move |_, mut next| {
        let kept = Arc::clone(&kept);
        Box::pin(async move {
            match next.run().await {
                Ok(proof) => {
                    *kept.lock().unwrap() = next.keep(&proof);
                    Ok(proof)
                }
                Err(error) => {
                    let stale = kept.lock().unwrap().clone().ok_or(error)?;
                    next.serve(&stale)
                }
            }
        })
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(stale_on_error)
        .effect(Fails(AtomicU32::new(0)))
        .build()
        .unwrap();
    let caller = runtime.caller(Identity::default());
    assert_eq!(call(&caller, "a").await.0.unwrap(), "good");
    let (output, report, view) = call(&caller, "a").await;
    assert_eq!((output.unwrap().as_str(), view.as_str()), ("good", "bad<2>"));
    assert_eq!((report.attempts, report.streamed), (1, false));
}
