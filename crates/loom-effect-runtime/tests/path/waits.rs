//! Waiting hooks: a deadline, armed at the first Pending, that refuses; without a timer it refuses at once.

use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::*;
use tokio::time::Instant;

use crate::support::{Act, Scripted, ask, plan, run};

/// What kind of hook waits, and for how long.
#[derive(Clone, Copy)]
struct Waiter {
    waits: Duration,
    deadline: Option<Duration>,
}

impl Waiter {
    fn step<'a>(&self) -> Waiting<'a> {
        let waits = self.waits;
        Box::pin(async move {
            tokio::time::sleep(waits).await;
            Ok(())
        })
    }

    fn deadline_or_default(&self) -> Duration {
        self.deadline.unwrap_or(WAIT_DEADLINE_DEFAULT)
    }
}

impl Middleware for Waiter {
    fn name(&self) -> &str {
        "waiter"
    }
    fn before(&self, _: &Call, _: &Input) -> Step {
        Step::Wait
    }
    fn before_wait<'a>(&'a self, _: &'a Call, _: &'a Input) -> Waiting<'a> {
        self.step()
    }
    fn deadline(&self) -> Duration {
        self.deadline_or_default()
    }
}

impl InputMiddleware for Waiter {
    fn name(&self) -> &str {
        "waiter"
    }
    fn rewrite(&self, _: &Call, _: &mut Input) -> Step {
        Step::Wait
    }
    fn rewrite_wait<'a>(&'a self, _: &'a Call, _: &'a mut Input) -> Waiting<'a> {
        self.step()
    }
    fn deadline(&self) -> Duration {
        self.deadline_or_default()
    }
}

impl OutputMiddleware for Waiter {
    fn name(&self) -> &str {
        "waiter"
    }
    fn inspect(&self, _: &Call, _: &mut Output) -> Step {
        Step::Wait
    }
    fn inspect_wait<'a>(&'a self, _: &'a Call, _: &'a mut Output) -> Waiting<'a> {
        self.step()
    }
    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        None
    }
    fn deadline(&self) -> Duration {
        self.deadline_or_default()
    }
}

impl Authorizer for Waiter {
    fn authorize(&self, _: &Call, _: &Input) -> Step {
        Step::Wait
    }
    fn authorize_wait<'a>(&'a self, _: &'a Call, _: &'a Input) -> Waiting<'a> {
        self.step()
    }
    fn deadline(&self) -> Duration {
        self.deadline_or_default()
    }
}

/// The runtime with a waiter in each of the four places.
fn places(waiter: Waiter) -> [(&'static str, RuntimeBuilder<Ready>); 4] {
    let plain = || EffectRuntime::builder().allow_all_calls();
    [
        ("authorizer", EffectRuntime::builder().authorizer(waiter)),
        ("rewriter", plain().input_middleware(waiter)),
        ("middleware", plain().middleware(waiter)),
        ("inspector", plain().output_middleware(waiter)),
    ]
}

async fn timed(builder: RuntimeBuilder<Ready>) -> (Result<(), CallError>, Duration) {
    let runtime = builder.effect(Scripted::new([Act::answer("x")])).build().unwrap();
    let started = Instant::now();
    let result = runtime.invoke_transient(plan(&runtime), ask("x")).await;
    (result.map(drop), started.elapsed())
}

/// D2: a hook that waits within its deadline is waited for.
#[tokio::test(start_paused = true)]
async fn a_hook_that_waits_in_time_is_waited_for() {
    let waits = Duration::from_millis(4_900);
    for (place, builder) in places(Waiter { waits, deadline: None }) {
        let (result, took) = timed(builder).await;
        assert!(result.is_ok(), "{place}: {result:?}");
        assert!(took >= waits, "{place}");
    }
}

/// D2: at the default deadline of 5 seconds the call is refused.
#[tokio::test(start_paused = true)]
async fn at_the_default_deadline_the_call_is_refused() {
    assert_eq!(WAIT_DEADLINE_DEFAULT, Duration::from_secs(5));
    for (place, builder) in places(Waiter { waits: Duration::from_secs(3600), deadline: None }) {
        let (result, took) = timed(builder).await;
        let error = result.expect_err(place);
        assert!(error.is_refusal(), "{place}");
        assert!(error.rule().is_some_and(|rule| rule.ends_with(".deadline")), "{place}: {:?}", error.rule());
        assert!((4_990..5_100).contains(&took.as_millis()), "{place}: {took:?}");
    }
}

/// D2: a hook's own deadline overrides the default.
#[tokio::test(start_paused = true)]
async fn a_hooks_own_deadline_overrides_the_default() {
    for (deadline, waits, goes) in [(20, 10, true), (1, 2, false)] {
        let waiter =
            Waiter { waits: Duration::from_secs(waits), deadline: Some(Duration::from_secs(deadline)) };
        for (place, builder) in places(waiter) {
            assert_eq!(timed(builder).await.0.is_ok(), goes, "{place}");
        }
    }
}

/// A clock without a timer.
struct Timeless;

impl Clock for Timeless {
    fn now_ms(&self) -> u64 {
        42
    }
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
    fn sleep(&self, _: Duration) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

/// D2: without a timer a hook that pends is refused at once; one that is ready at its first poll needs none.
#[test]
fn without_a_timer_a_pending_hook_is_refused() {
    for (place, builder) in places(Waiter { waits: Duration::from_millis(1), deadline: None }) {
        let effect = Scripted::new([]);
        let runtime = builder.clock(Timeless).effect(effect).build().unwrap();
        let error = run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).expect_err(place);
        assert!(error.is_refusal(), "{place}");
    }
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .clock(Timeless)
        .middleware(before_wait("ready", |call, _| {
            assert_eq!(call.now_ms(), 42);
            Box::pin(std::future::ready(Ok(())))
        }))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    futures::executor::block_on(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
}

/// D2: outside any tokio runtime, and in one without a timer, a hook that pends is refused at once, without a panic.
#[test]
fn outside_a_tokio_runtime_a_pending_hook_is_refused() {
    use futures::FutureExt;
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(before_wait("parks", |_, _| Box::pin(std::future::pending())))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    let at_once = || runtime.invoke_transient(plan(&runtime), ask("x")).into_future().now_or_never();
    assert!(at_once().expect("it is not waited for").unwrap_err().is_refusal());
    let timerless = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = timerless.block_on(async { at_once() });
    assert!(outcome.expect("it is not waited for").unwrap_err().is_refusal());
}

/// D2: a hook that says Wait and has no waiting twin cannot decide, so it refuses; an authorizer denies.
#[test]
fn a_hook_that_says_wait_without_a_twin_refuses() {
    let undecided = |builder: RuntimeBuilder<Ready>| {
        let effect = Scripted::new([]);
        let runtime = builder.effect(effect.clone()).build().unwrap();
        let error = run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err();
        assert!(error.is_refusal());
        (error.name(), effect.executions())
    };
    let plain = || EffectRuntime::builder().allow_all_calls();
    let denied = undecided(EffectRuntime::builder().authorizer(authorize(|_, _| Step::Wait)));
    assert_eq!(denied, (ErrorName::CapabilityDenied, 0));
    assert_eq!(undecided(plain().middleware(before("b", |_, _| Step::Wait))).1, 0);
    assert_eq!(undecided(plain().input_middleware(rewrite("r", |_, _| Step::Wait))).1, 0);
    assert_eq!(undecided(plain().output_middleware(inspect("i", None, |_, _| Step::Wait))).1, 1);
}

/// D10: inspectors behind one that waited still judge, each once and in order, in both lanes.
#[tokio::test(start_paused = true)]
async fn inspectors_behind_one_that_waited_still_judge() {
    use crate::support::{Answer, Log};
    for ready in [false, true] {
        let log = Log::new();
        let says = |name: &'static str| {
            let log = log.clone();
            inspect(name, None, move |_, output| {
                log.say(format!("{name} {}", output.get::<Answer>().unwrap().text));
                if name == "judge" { Step::Deny(Refusal::safety("judge")) } else { Step::Go }
            })
        };
        let effect = Scripted::new([Act::answer("x")]);
        let waiter = Waiter { waits: Duration::from_secs(1), deadline: None };
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .output_middleware(says("first"))
            .output_middleware(waiter)
            .output_middleware(says("second"))
            .output_middleware(waiter)
            .output_middleware(says("judge"))
            .effect(if ready { effect.ready_lane() } else { effect })
            .build()
            .unwrap();
        let error = runtime.invoke_transient(plan(&runtime), ask("x")).await.unwrap_err();
        assert_eq!(error.rule(), Some("judge"));
        assert_eq!(log.lines(), ["first x", "second x", "judge x"]);
    }
}

/// D2: hooks after one that waited go on in order, each once.
#[tokio::test(start_paused = true)]
async fn the_lane_resumes_behind_a_hook_that_waited() {
    use crate::support::{Log, Told};
    let log = Log::new();
    let waiter = Waiter { waits: Duration::from_secs(1), deadline: None };
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(Told("a", log.clone()))
        .middleware(waiter)
        .middleware(Told("b", log.clone()))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    runtime.invoke_transient(plan(&runtime), ask("x")).await.unwrap();
    assert_eq!(log.lines(), ["before a", "before b", "after b ok", "after a ok"]);
}
