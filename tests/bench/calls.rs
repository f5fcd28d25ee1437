//! The governed call: an authorizer with a linear three-entry grant check, and N pass-through middlewares.

use std::cell::Cell;
use std::future::{Future, IntoFuture};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use loom_effect_runtime::{
    Call, CallError, Caller, DeltaForm, DeltaGuard, DeltaKinds, Effect, EffectContext, EffectRuntime,
    Identity, Input, Lane, Middleware, Outcome, Outlet, Output, OutputMiddleware, Principal, Refusal,
    RuntimeBuilder, Step, Tool, Verdict, Violation, authorize,
};
use loom_middleware::{Memo, Retry};
use serde_json::{Value, json};

use crate::measure::{Bench, ready, round};

/// Inputs made ahead of the calls that take them, so that they are still in the cache.
const PREPARED: usize = 100;
/// Calls a thread makes in the two-thread bench.
const THREAD_CALLS: u64 = 400_000;

pub(crate) fn all() -> Vec<Bench> {
    vec![
        Bench::new("call.bare", |count| {
            let cx = &mut Context::from_waker(Waker::noop());
            for number in 0..count {
                black_box(ready!(cx, bare(black_box(number))));
            }
        }),
        typed::<Ready>("call.ready.0", 0, false),
        typed::<Ready>("call.ready.1", 1, false),
        typed::<Ready>("call.ready.3", 3, false),
        typed::<Ready>("call.ready.8", 8, false),
        typed::<Ready>("call.ready.3.inspector", 3, true),
        json_input(),
        typed::<Async>("call.async.3", 3, false),
        retried(),
        memo_hit(),
        two_threads(),
    ]
}

async fn bare(number: u64) -> u64 {
    number + 1
}

/// A ready effect.
#[derive(Default)]
struct Ready;

impl Effect for Ready {
    type Input = u64;
    type Output = u64;

    fn id(&self) -> &str {
        "bench.tool"
    }

    fn ready(&self, input: &u64, _cx: &EffectContext<'_>) -> Option<Result<u64, CallError>> {
        Some(Ok(input + 1))
    }

    async fn execute(&self, input: &u64, _cx: &EffectContext<'_>) -> Result<u64, CallError> {
        Ok(input + 1)
    }
}

/// The same without the ready lane.
#[derive(Default)]
struct Async;

impl Effect for Async {
    type Input = u64;
    type Output = u64;

    fn id(&self) -> &str {
        "bench.tool"
    }

    async fn execute(&self, input: &u64, _cx: &EffectContext<'_>) -> Result<u64, CallError> {
        Ok(input + 1)
    }
}

/// The same with a JSON value as input.
struct TakesJson;

impl Effect for TakesJson {
    type Input = Value;
    type Output = u64;

    fn id(&self) -> &str {
        "bench.tool"
    }

    fn ready(&self, _input: &Value, _cx: &EffectContext<'_>) -> Option<Result<u64, CallError>> {
        Some(Ok(1))
    }

    async fn execute(&self, _input: &Value, _cx: &EffectContext<'_>) -> Result<u64, CallError> {
        Ok(1)
    }
}

/// A kill switch and a counter per thread: what a governance hook does at least.
struct Switch {
    off: AtomicBool,
}

thread_local! {
    static OUTCOMES: Cell<u64> = const { Cell::new(0) };
}

impl Middleware for Switch {
    fn name(&self) -> &str {
        "switch"
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        if self.off.load(Ordering::Relaxed) { Step::Deny(Refusal::quota("switch")) } else { Step::Go }
    }

    fn after(&self, _call: &Call, outcome: &Outcome<'_>) {
        OUTCOMES.set(OUTCOMES.get() + u64::from(outcome.is_ok()));
    }
}

/// An inspector that reads every output, with a delta form.
struct Inspector;

impl OutputMiddleware for Inspector {
    fn name(&self) -> &str {
        "inspector"
    }

    fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
        match output.get::<u64>() {
            Some(0) => Step::Deny(Refusal::safety("zero")),
            _ => Step::Go,
        }
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(self)
    }
}

impl DeltaForm for Inspector {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &loom_effect_runtime::CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(PassAll)
    }
}

struct PassAll;

impl DeltaGuard for PassAll {
    fn push(&mut self, _text: &str, _out: &mut Outlet<'_>) -> Verdict {
        Verdict::Pass
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

fn runtime(effect: impl Effect, middlewares: usize, inspector: bool) -> EffectRuntime {
    let mut builder = governed(effect, middlewares);
    if inspector {
        builder = builder.output_middleware(Inspector);
    }
    builder.build().expect("the bench runtime is well-formed")
}

fn governed(effect: impl Effect, middlewares: usize) -> RuntimeBuilder<loom_effect_runtime::Ready> {
    let granted = ["bench.other", "bench.another", "bench.tool"];
    let mut builder = EffectRuntime::builder().effect(effect).authorizer(authorize(move |call, _| {
        if granted.contains(&call.tool()) {
            Step::Go
        } else {
            Step::Deny(Refusal::capability_denied(call.tool()))
        }
    }));
    for _ in 0..middlewares {
        builder = builder.middleware(Switch { off: AtomicBool::new(false) });
    }
    builder
}

fn caller_of(runtime: &EffectRuntime) -> (Caller, Tool<u64, u64>) {
    let tool = runtime.tool("bench.tool").expect("the tool is registered");
    (runtime.caller(Identity::new(Principal::new("bench"))), tool)
}

fn typed<E: Effect<Input = u64, Output = u64> + Default>(
    name: &'static str,
    middlewares: usize,
    inspector: bool,
) -> Bench {
    let (caller, tool) = caller_of(&runtime(E::default(), middlewares, inspector));
    Bench::new(name, move |count| call_loop(&caller, tool, count))
}

fn call_loop(caller: &Caller, tool: Tool<u64, u64>, count: u64) {
    let cx = &mut Context::from_waker(Waker::noop());
    for number in 0..count {
        let output = ready!(cx, caller.invoke_transient(tool, black_box(number)).into_future());
        assert!(black_box(output).is_ok(), "the call succeeds");
    }
}

fn json_input() -> Bench {
    let runtime = runtime(TakesJson, 3, false);
    let tool: Tool<Value, u64> = runtime.tool("bench.tool").expect("the tool is registered");
    let caller = runtime.caller(Identity::new(Principal::new("bench")));
    let value = json!({"table": "orders", "limit": 10, "descending": true, "after": null});
    let own_value = value.clone();
    let own = allocation_counter::measure(|| drop(black_box(value.clone()))).count_total;
    let mut prepared: Vec<Value> = Vec::with_capacity(PREPARED);
    Bench::new("call.ready.3.json", move |count| {
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..count.div_ceil(PREPARED as u64) {
            prepared.extend((0..PREPARED).map(|_| value.clone()));
            for input in prepared.drain(..) {
                black_box(ready!(cx, caller.invoke_transient(tool, input).into_future()))
                    .expect("the call succeeds");
            }
        }
    })
    .less(own, move || drop(black_box(own_value.clone())))
}

/// An around that has nothing to do: the first attempt succeeds.
fn retried() -> Bench {
    let runtime = governed(Ready, 3).around(Retry::new().seed(1)).build();
    let (caller, tool) = caller_of(&runtime.expect("the bench runtime is well-formed"));
    Bench::new("call.retry", move |count| call_loop(&caller, tool, count))
}

/// The same, and one output served again and again.
fn memo_hit() -> Bench {
    let memo = Memo::new(16).tool("bench.tool", Duration::MAX);
    let runtime = governed(Ready, 3).around(Retry::new().seed(1)).around(memo).build();
    let (caller, tool) = caller_of(&runtime.expect("the bench runtime is well-formed"));
    Bench::new("call.memo_hit", move |count| {
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..count {
            let output = ready!(cx, caller.invoke_transient(tool, black_box(7)).into_future());
            assert!(black_box(output).is_ok(), "the call succeeds");
        }
    })
}

fn two_threads() -> Bench {
    let runtime = runtime(Ready, 3, false);
    let (caller, tool) = caller_of(&runtime);
    Bench::new("call.ready.3.2threads", move |count| call_loop(&caller, tool, count)).with(move || {
        let one = per_second(&runtime, 1);
        let two = per_second(&runtime, 2);
        json!({"per_s": two.round(), "ratio": round(two / one)})
    })
}

/// Calls a second with one caller a thread; the best of five.
fn per_second(runtime: &EffectRuntime, threads: usize) -> f64 {
    let once = || {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (caller, tool) = caller_of(runtime);
                scope.spawn(move || call_loop(&caller, tool, THREAD_CALLS));
            }
        });
        (threads as u64 * THREAD_CALLS) as f64 / start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once()).fold(0.0, f64::max)
}
