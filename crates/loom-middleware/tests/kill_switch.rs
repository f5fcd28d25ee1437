//! The kill switch on a real runtime.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loom_effect_runtime::{CallError, Effect, EffectContext, EffectDelta, EffectRuntime, ErrorName, Stopped};
use loom_middleware::{KillSwitch, Retry};
use tokio::sync::Notify;

/// Writes a piece, waits to be let on, writes another and gives both; with `parks` it waits for ever in between.
struct Streaming {
    id: &'static str,
    ran: Arc<AtomicU32>,
    go_on: Arc<Notify>,
    parks: bool,
    /// What the second write was answered.
    second: Arc<Mutex<Option<Result<(), Stopped>>>>,
}

impl Streaming {
    fn new(id: &'static str) -> Self {
        let (ran, go_on, second) = Default::default();
        Self { id, ran, go_on, parks: false, second }
    }
}

impl Effect for Streaming {
    type Input = ();
    type Output = String;

    fn id(&self) -> &str {
        self.id
    }

    async fn execute(&self, (): &(), cx: &EffectContext<'_>) -> Result<String, CallError> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let deltas = cx.deltas();
        deltas.text("first ")?;
        if self.parks {
            pending::<()>().await;
        }
        self.go_on.notified().await;
        // The error is ignored on purpose: a sever must not depend on the effect.
        *self.second.lock().unwrap() = Some(deltas.text("second"));
        Ok("first second".to_owned())
    }

    fn repeatable(&self) -> bool {
        true
    }
}

type View = Arc<Mutex<String>>;

fn view() -> (View, impl Fn(&EffectDelta<'_>) + Send + Sync + 'static) {
    let seen = View::default();
    let sink = Arc::clone(&seen);
    (seen, move |delta: &EffectDelta<'_>| {
        let mut sink = sink.lock().unwrap();
        match delta {
            EffectDelta::Text { text, .. } => sink.push_str(text.unwrap_tainted()),
            EffectDelta::Reset { attempt, .. } => sink.push_str(&format!("<{attempt}>")),
            _ => sink.push('.'),
        }
    })
}

/// D2: an engaged switch refuses alike with and without a sink, the effect does not run and no sink is called.
#[tokio::test]
async fn an_engaged_switch_refuses_at_the_door_with_and_without_a_sink() {
    let switch = KillSwitch::new();
    let (one, other) = (Streaming::new("one"), Streaming::new("other"));
    other.go_on.notify_one();
    let ran = Arc::clone(&one.ran);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(switch.clone())
        .effect(one)
        .effect(other)
        .build()
        .unwrap();
    switch.engage_tool("one", "incident-7");
    let plain = runtime.invoke_transient("one", ()).await.unwrap_err();
    let (seen, sink) = view();
    let streamed = runtime.invoke_transient("one", ()).on_delta(sink).await.unwrap_err();
    for error in [&plain, &streamed] {
        assert_eq!(error.name(), ErrorName::SafetyViolation);
        assert_eq!(error.rule(), Some("kill_switch.incident-7"));
        assert!(error.is_refusal());
    }
    assert_eq!(plain.to_string(), streamed.to_string());
    assert_eq!((ran.load(Ordering::SeqCst), seen.lock().unwrap().as_str()), (0, ""));
    assert_eq!(runtime.invoke_transient("other", ()).await.unwrap(), "first second");
}

/// D15: a switch engaged in mid-stream severs before the next delta, whatever the effect makes of it.
#[tokio::test]
async fn engaging_severs_a_running_stream_before_its_next_delta() {
    let switch = KillSwitch::new();
    let effect = Streaming::new("one");
    let (ran, go_on, second) =
        (Arc::clone(&effect.ran), Arc::clone(&effect.go_on), Arc::clone(&effect.second));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(switch.clone())
        .around(Retry::new().when(|_| true))
        .effect(effect)
        .build()
        .unwrap();
    let (seen, sink) = view();
    let tool = runtime.tool::<(), String>("one").unwrap();
    let operator = async {
        while seen.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        switch.engage("all-stop");
        go_on.notify_one();
    };
    let call = runtime.invoke_transient(tool, ()).on_delta(sink).into_future();
    let (result, ()) = tokio::join!(call, operator);
    let error = result.unwrap_err();
    assert_eq!(error.name(), ErrorName::SafetyViolation);
    assert_eq!(error.violation().unwrap().rule(), "kill_switch.all-stop");
    assert_eq!(seen.lock().unwrap().as_str(), "first ");
    assert_eq!(ran.load(Ordering::SeqCst), 1, "a sever is not retried");
    assert!(matches!(*second.lock().unwrap(), Some(Err(Stopped::Severed(_)))));
}

#[tokio::test]
async fn a_released_switch_lets_calls_through_again() {
    let switch = KillSwitch::new();
    let effect = Streaming::new("one");
    effect.go_on.notify_one();
    let runtime =
        EffectRuntime::builder().allow_all_calls().middleware(switch.clone()).effect(effect).build().unwrap();
    switch.engage("drill");
    assert!(runtime.invoke_transient("one", ()).await.is_err());
    switch.release();
    assert_eq!(runtime.invoke_transient("one", ()).await.unwrap(), "first second");
}

#[tokio::test(start_paused = true)]
async fn the_running_form_drops_an_attempt_that_waits_for_ever() {
    let switch = KillSwitch::new();
    let effect = Streaming { parks: true, ..Streaming::new("one") };
    let ran = Arc::clone(&effect.ran);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Retry::new().when(|_| true))
        .around(switch.running())
        .effect(effect)
        .effect(Streaming::new("other"))
        .build()
        .unwrap();
    let operator = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        switch.engage_tool("other", "not-this-one");
        tokio::time::sleep(Duration::from_millis(1)).await;
        switch.engage_tool("one", "stuck");
    };
    let call = runtime.invoke_transient("one", ()).into_future();
    let (result, ()) = tokio::join!(call, operator);
    assert_eq!(result.unwrap_err().rule(), Some("kill_switch.stuck"));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let error = runtime.invoke_transient("one", ()).await.unwrap_err();
    assert_eq!(error.rule(), Some("kill_switch.stuck"));
    assert_eq!(ran.load(Ordering::SeqCst), 1, "no attempt begins while the switch is engaged");
}

/// After `engage` has returned, no thread admits a call.
#[test]
fn engaging_is_seen_by_every_thread_at_once() {
    struct Ready;

    impl Effect for Ready {
        type Input = ();
        type Output = ();

        fn id(&self) -> &str {
            "ready"
        }

        fn ready(&self, (): &(), _cx: &EffectContext<'_>) -> Option<Result<(), CallError>> {
            Some(Ok(()))
        }

        async fn execute(&self, (): &(), _cx: &EffectContext<'_>) -> Result<(), CallError> {
            Ok(())
        }
    }

    let switch = KillSwitch::new();
    let runtime =
        EffectRuntime::builder().allow_all_calls().middleware(switch.clone()).effect(Ready).build().unwrap();
    let tool = runtime.tool::<(), ()>("ready").unwrap();
    let call = || {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio.block_on(runtime.invoke_transient(tool, ()).into_future())
    };
    for _ in 0..20 {
        let engaged = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let callers = [(); 2].map(|()| {
                scope.spawn(|| {
                    loop {
                        let refused_from_here = engaged.load(Ordering::SeqCst);
                        match call() {
                            Ok(()) if refused_from_here => break false,
                            Ok(()) => {}
                            Err(_) => break true,
                        }
                    }
                })
            });
            switch.engage("drill");
            engaged.store(true, Ordering::SeqCst);
            for caller in callers {
                assert!(caller.join().unwrap(), "a call was admitted after `engage` had returned");
            }
        });
        switch.release();
    }
}
