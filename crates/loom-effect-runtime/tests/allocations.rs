//! What a call allocates.

#![cfg(test)]

use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use loom_effect_runtime::*;

fn allocations<T>(run: impl FnOnce() -> T) -> u64 {
    allocation_counter::measure(|| {
        black_box(run());
    })
    .count_total
}

/// Polls a call until it is done, allocating nothing itself.
fn finish<T>(call: impl IntoFuture<Output = Result<T, CallError>>) -> T {
    let mut call = pin!(call.into_future());
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = call.as_mut().poll(&mut cx) {
            return result.unwrap();
        }
    }
}

/// The allocations of a call once everything that is made once has been made.
fn warm<T>(mut call: impl FnMut() -> T) -> u64 {
    black_box(call());
    allocations(&mut call)
}

/// Answers at once, in the ready lane.
struct AtOnce;

impl Effect for AtOnce {
    type Input = u64;
    type Output = u64;

    fn id(&self) -> &str {
        "at-once"
    }

    fn ready(&self, n: &u64, _cx: &EffectContext<'_>) -> Option<Result<u64, CallError>> {
        Some(Ok(n + 1))
    }

    async fn execute(&self, n: &u64, _cx: &EffectContext<'_>) -> Result<u64, CallError> {
        Ok(n + 1)
    }
}

/// Waits twice, then streams so many deltas and reports what the deltas after the first one allocated.
struct Streams(Option<Arc<dyn DeltaSink>>);

impl Effect for Streams {
    type Input = u64;
    type Output = u64;

    fn id(&self) -> &str {
        "streams"
    }

    async fn execute(&self, deltas: &u64, cx: &EffectContext<'_>) -> Result<u64, CallError> {
        tokio::task::yield_now().await;
        if *deltas == 0 {
            return Ok(0);
        }
        let channel = cx.deltas();
        channel.text("twelve bytes")?;
        let mut stopped = Ok(());
        let made = allocations(|| {
            for _ in 1..*deltas {
                stopped = channel.text("twelve bytes");
            }
        });
        stopped?;
        Ok(made)
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        self.0.clone()
    }
}

struct Sums(AtomicU64);

impl DeltaSink for Sums {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        self.0.fetch_add(delta.text().len() as u64, Ordering::Relaxed);
    }
}

/// A middleware with both hooks.
struct Hooked(AtomicU64);

impl Middleware for Hooked {
    fn name(&self) -> &str {
        "hooked"
    }

    fn before(&self, call: &Call, _input: &Input) -> Step {
        self.0.fetch_add(call.tool().len() as u64, Ordering::Relaxed);
        Step::Go
    }

    fn after(&self, _call: &Call, outcome: &Outcome<'_>) {
        self.0.fetch_add(u64::from(outcome.is_ok()), Ordering::Relaxed);
    }
}

/// An inspector whose guard has state of its own, so that its box is a real one.
struct Inspects;

impl OutputMiddleware for Inspects {
    fn name(&self) -> &str {
        "inspects"
    }

    fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
        match output.get_mut::<u64>() {
            Some(_) => Step::Go,
            None => Step::Deny(Refusal::safety("type")),
        }
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(self)
    }
}

impl DeltaForm for Inspects {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Counts(0))
    }
}

struct Counts(u64);

impl DeltaGuard for Counts {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        self.0 += text.len() as u64;
        Verdict::Pass
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

fn governed(inspectors: usize, effect: impl Effect) -> EffectRuntime {
    let builder = EffectRuntime::builder().authorizer(authorize(|call, _| {
        if call.identity().principal().id() == "anonymous" {
            Step::Go
        } else {
            Step::Deny(Refusal::capability_denied("all"))
        }
    }));
    let builder = (0..3).fold(builder, |builder, _| builder.middleware(Hooked(AtomicU64::new(0))));
    let builder = (0..inspectors).fold(builder, |builder, _| builder.output_middleware(Inspects));
    builder.effect(effect).build().unwrap()
}

/// D2: a ready call behind an authorizer and three middlewares allocates nothing, nor with an output inspector.
#[test]
fn a_ready_call_allocates_nothing() {
    for inspectors in [0, 1, 2] {
        let runtime = governed(inspectors, AtOnce);
        let tool = runtime.tool::<u64, u64>("at-once").unwrap();
        assert_eq!(warm(|| finish(runtime.invoke_transient(tool, 1))), 0, "{inspectors} inspectors");
    }
}

/// D2: a call through a caller of one's own allocates nothing either.
#[test]
fn a_call_of_an_own_caller_allocates_nothing() {
    let runtime = governed(1, AtOnce);
    let caller = runtime.caller(Identity::default());
    let tool = runtime.tool::<u64, u64>("at-once").unwrap();
    assert_eq!(warm(|| finish(caller.invoke_transient(tool, 1))), 0);
}

/// D2: a call that truly waits allocates its erased future, once.
#[test]
fn an_async_call_allocates_once() {
    for inspectors in [0, 1] {
        let runtime = governed(inspectors, Streams(None));
        let tool = runtime.tool::<u64, u64>("streams").unwrap();
        assert_eq!(warm(|| finish(runtime.invoke_transient(tool, 0))), 1, "{inspectors} inspectors");
    }
}

/// D12: through two guards and two sinks a delta allocates nothing, once the first has made its lane.
#[test]
fn a_delta_allocates_nothing() {
    let runtime = governed(2, Streams(Some(Arc::new(Sums(AtomicU64::new(0))))));
    let tool = runtime.tool::<u64, u64>("streams").unwrap();
    for _ in 0..2 {
        let call = runtime.invoke_transient(tool, 1000).on_delta_sink(Sums(AtomicU64::new(0)));
        assert_eq!(finish(call), 0);
    }
}

/// D12: to stream, through two guards to two sinks, costs at most six allocations more than not to.
#[test]
fn the_set_up_of_a_stream_allocates_at_most_six_times() {
    let runtime = governed(2, Streams(Some(Arc::new(Sums(AtomicU64::new(0))))));
    let tool = runtime.tool::<u64, u64>("streams").unwrap();
    let silent = warm(|| finish(runtime.invoke_transient(tool, 0)));
    let followed = |deltas: u64| {
        warm(|| finish(runtime.invoke_transient(tool, deltas).on_delta_sink(Sums(AtomicU64::new(0)))))
    };
    assert!(followed(1) - silent <= 6, "{} against {silent}", followed(1));
    assert_eq!(followed(1), followed(1000));
}

/// T14: the key of a small input is one allocation, whatever the order of its fields.
#[test]
fn a_memo_key_allocates_once() {
    #[derive(Clone, serde::Serialize, serde::Deserialize)]
    struct Query {
        table: String,
        limit: u32,
        after: Option<f64>,
        fields: Vec<String>,
    }

    struct Looks;

    impl Effect for Looks {
        type Input = Query;
        type Output = u64;

        fn id(&self) -> &str {
            "looks"
        }

        async fn execute(&self, _query: &Query, _cx: &EffectContext<'_>) -> Result<u64, CallError> {
            Ok(1)
        }
    }

    let key = before("key", |call, input| {
        assert_eq!(allocations(|| call.memo_key(input).unwrap()), 1);
        Step::Go
    });
    let runtime = EffectRuntime::builder().allow_all_calls().middleware(key).effect(Looks).build().unwrap();
    let tool = runtime.tool::<Query, u64>("looks").unwrap();
    let fields = ["id", "name"].map(str::to_owned).to_vec();
    let query = Query { table: "orders".to_owned(), limit: 10, after: Some(0.5), fields };
    let ada = Principal::new("ada").on_behalf_of(["eve"]).with_actor("bob");
    for identity in [Identity::default(), Identity::new(ada)] {
        finish(runtime.caller(identity).invoke_transient(tool, query.clone()));
    }
}

/// D2: each around is one allocation, its own, and a ready attempt behind them is none.
#[test]
fn an_around_allocates_once() {
    let passes = || around("passes", |_, mut next| Box::pin(async move { next.run().await }));
    for arounds in 1..4 {
        let builder = EffectRuntime::builder().allow_all_calls().effect(AtOnce);
        let runtime = (0..arounds).fold(builder, |builder, _| builder.around(passes())).build().unwrap();
        let tool = runtime.tool::<u64, u64>("at-once").unwrap();
        assert_eq!(warm(|| finish(runtime.invoke_transient(tool, 1))), arounds);
    }
}
