//! A third party's value that panics when it is dropped hurts neither the call nor its guards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loom_effect_runtime::*;

use crate::support::*;

/// Panics at its first drop.
#[derive(Clone)]
struct Bomb(Arc<AtomicBool>);

impl Bomb {
    fn armed() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0.swap(false, Ordering::SeqCst) && !std::thread::panicking() {
            panic!("scripted");
        }
    }
}

/// Severs on `secret`; its first instance panics when it is dropped.
struct BombGuard {
    text: String,
    _bomb: Bomb,
}

impl DeltaGuard for BombGuard {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        self.text.push_str(text);
        if self.text.contains("secret") { Verdict::Sever(Violation::safety("word")) } else { Verdict::Pass }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

struct BombForm(Bomb);

impl DeltaForm for BombForm {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(BombGuard { text: String::new(), _bomb: Bomb(Arc::clone(&self.0.0)) })
    }
}

fn bombed_form() -> Option<Arc<dyn DeltaForm>> {
    Some(Arc::new(BombForm(Bomb::armed())))
}

/// D6: neither a sink, a kept value nor a waiting hook that panics when it is dropped reaches the caller.
#[test]
fn a_panic_in_a_drop_stays_with_its_owner() {
    let builder = || EffectRuntime::builder().allow_all_calls();
    let plain = || Scripted::new([Act::text("hi")]);

    let runtime = builder().effect(plain()).build().unwrap();
    let bomb = Bomb::armed();
    let sink = move |_: &EffectDelta<'_>| assert!(bomb.0.load(Ordering::SeqCst));
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta(sink).into_future()).unwrap();

    let bomb = Bomb::armed();
    let keeps = before("keeps", move |call, _| {
        call.keep(Bomb(Arc::clone(&bomb.0)));
        Step::Go
    });
    let runtime = builder().middleware(keeps).effect(plain()).build().unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();

    let bomb = Bomb::armed();
    let waits = before_wait("waits", move |_, _| {
        let held = Bomb(Arc::clone(&bomb.0));
        Box::pin(async move {
            let _held = held;
            std::future::pending().await
        })
    });
    let runtime = builder().middleware(waits).effect(plain()).build().unwrap();
    let signal = Signal::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal.clone()).into_future();
    let abort = async {
        tokio::task::yield_now().await;
        signal.abort_with(AbortError::new());
    };
    let (result, ()) = run(async { tokio::join!(call, abort) });
    assert_eq!(result.unwrap_err().name(), ErrorName::Abort);
}

/// D11: a guard that panics when its attempt is over costs neither the reset nor the next attempt.
#[test]
fn a_guard_that_panics_when_dropped_does_not_cost_the_next_attempt() {
    let sink = Recorder::new();
    let effect = Scripted::new([Act::text("bad"), Act::Fail(ErrorName::Provider)]).then([Act::text("good")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(bombed_form()))
        .around(stubborn(3))
        .effect(effect.clone())
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    run(call.into_future()).unwrap();
    assert_eq!(sink.lines(), ["bad", "<reset 2>", "good", "<done>"]);
    assert_eq!(effect.executions(), 2);
}

/// D10: no lane ever runs without its guards, whatever a retired guard does when it is dropped.
#[test]
fn a_retired_guards_panic_leaves_no_lane_unguarded() {
    let lane = |choice, block| Lane::new(DeltaKind::Text, choice, block);
    let writes = Act::with(move |cx| {
        let deltas = cx.deltas();
        let _ = deltas.write(lane(0, 0), "a");
        let _ = deltas.write(lane(1, 0), "b");
        let pump = deltas.clone();
        let _ = std::thread::spawn(move || drop(pump.write(lane(1, 1), "c"))).join();
        let _ = deltas.write(lane(0, 0), "secret");
    });
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(bombed_form()))
        .effect(Scripted::new([writes, Act::Unstated]))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let error =
        run(async { tokio::time::timeout(Duration::from_secs(10), call.into_future()).await }).unwrap();
    assert_eq!(error.unwrap_err().rule(), Some("word"));
    assert!(!sink.lines().contains(&"secret".to_owned()));
}

/// An output whose copies panic when they are dropped.
#[derive(serde::Serialize, serde::Deserialize)]
struct Loud {
    is_copy: bool,
}

impl Clone for Loud {
    fn clone(&self) -> Self {
        Self { is_copy: true }
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        assert!(!self.is_copy, "scripted");
    }
}

struct GivesLoud;

impl Effect for GivesLoud {
    type Input = ();
    type Output = Loud;

    fn id(&self) -> &str {
        "loud"
    }

    async fn execute(&self, _input: &(), _cx: &EffectContext<'_>) -> Result<Loud, CallError> {
        Ok(Loud { is_copy: false })
    }
}

/// T14: an around that lets go of what it kept, of whichever call, is not hurt by its drop.
#[test]
fn a_kept_output_that_panics_when_it_is_dropped_fails_no_call() {
    let keeps = around("keeps", |_, mut next| {
        Box::pin(async move {
            let proof = next.run().await?;
            drop(next.keep(&proof));
            Ok(proof)
        })
    });
    let runtime = EffectRuntime::builder().allow_all_calls().around(keeps).effect(GivesLoud).build().unwrap();
    let loud = runtime.tool::<(), Loud>("loud").unwrap();
    assert!(run(runtime.invoke_transient(loud, ()).into_future()).is_ok());
}
