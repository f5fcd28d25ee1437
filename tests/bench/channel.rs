//! The guarded channel: two guards, two sinks, panics caught, the live text hashed.

use std::future::{Future, IntoFuture};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

use loom_effect_runtime::{
    Call, CallError, CallInfo, CallRef, DeltaForm, DeltaGuard, DeltaKinds, DeltaSink, Effect, EffectContext,
    EffectDelta, EffectRuntime, ErrorName, Lane, Outlet, Output, OutputMiddleware, Step, Tool, Verdict,
    Violation,
};
use serde_json::json;

use crate::measure::{Bench, ready};

/// A delta of 12 bytes.
const DELTA: &str = "twelve bytes";

pub(crate) fn all() -> Vec<Bench> {
    vec![
        per_delta(),
        Bench::new("channel.2guards.2sinks.call", |count| {
            let runtime = runtime(2);
            (0..count).for_each(|_| stream(&runtime, 1));
        }),
    ]
}

/// One long stream; its set-up is counted apart from its deltas.
fn per_delta() -> Bench {
    let streamed = runtime(2);
    let counted = |deltas: u64| allocation_counter::measure(|| stream(&streamed, deltas)).count_total;
    let (silent, set_up) = (counted(0), counted(1));
    let more = counted(1001) - set_up;
    Bench::new("channel.2guards.2sinks", move |count| stream(&streamed, count))
        .with(move || json!({"setup_allocs": set_up - silent, "allocs": more as f64 / 1000.0}))
}

/// One streamed call of so many deltas.
fn stream(runtime: &EffectRuntime, deltas: u64) {
    let cx = &mut Context::from_waker(Waker::noop());
    let tool: Tool<u64, u64> = runtime.tool("bench.stream").expect("the tool is registered");
    let call = runtime.invoke_transient(tool, deltas);
    let call = if deltas == 0 { call } else { call.on_delta_sink(Count::default()) };
    black_box(ready!(cx, call.into_future())).expect("the call succeeds");
}

fn runtime(guards: usize) -> EffectRuntime {
    let mut builder =
        EffectRuntime::builder().allow_all_calls().effect(Streams { sink: Arc::new(Count::default()) });
    for _ in 0..guards {
        builder = builder.output_middleware(Guards);
    }
    builder.build().expect("the bench runtime is well-formed")
}

struct Streams {
    sink: Arc<Count>,
}

impl Effect for Streams {
    type Input = u64;
    type Output = u64;

    fn id(&self) -> &str {
        "bench.stream"
    }

    fn ready(&self, count: &u64, cx: &EffectContext<'_>) -> Option<Result<u64, CallError>> {
        if *count > 0 {
            let deltas = cx.deltas();
            for _ in 0..*count {
                if deltas.text(black_box(DELTA)).is_err() {
                    return Some(Err(CallError::named(
                        ErrorName::EffectFailed,
                        "the bench's stream was stopped",
                    )));
                }
            }
        }
        Some(Ok(*count))
    }

    async fn execute(&self, count: &u64, _cx: &EffectContext<'_>) -> Result<u64, CallError> {
        Ok(*count)
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        Some(Arc::clone(&self.sink) as Arc<dyn DeltaSink>)
    }
}

/// A sink that counts bytes.
#[derive(Default)]
struct Count(AtomicU64);

impl DeltaSink for Count {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let seen = self.0.load(Ordering::Relaxed) + delta.text().len() as u64;
        self.0.store(seen, Ordering::Relaxed);
    }
}

/// An inspector whose guard looks at one byte of each delta.
struct Guards;

impl OutputMiddleware for Guards {
    fn name(&self) -> &str {
        "guards"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(self)
    }
}

impl DeltaForm for Guards {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(FirstByte { seen: 0 })
    }
}

struct FirstByte {
    seen: u64,
}

impl DeltaGuard for FirstByte {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        self.seen += 1;
        if text.as_bytes().first() == Some(&0) {
            Verdict::Sever(Violation::safety("nul"))
        } else {
            Verdict::Pass
        }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
