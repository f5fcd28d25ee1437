//! The sink that takes back what a failed call showed.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use loom_effect_runtime::{
    CallError, CallRef, DeltaKinds, DeltaSink, Effect, EffectContext, EffectDelta, EffectRuntime, ErrorName,
    Lane, RetractableSink, around,
};

/// Writes its input, reasons about it, and fails where the input says so.
struct Says;

impl Effect for Says {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "says"
    }

    async fn execute(&self, text: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        let deltas = cx.deltas();
        deltas.write(Lane::REASONING, "hm")?;
        if !text.starts_with("later") || cx.attempt() == 1 {
            deltas.text(text)?;
        }
        if text.ends_with("fails") {
            Err(CallError::named(ErrorName::Provider, "said"))
        } else {
            Ok(text.clone())
        }
    }

    fn repeatable(&self) -> bool {
        true
    }
}

/// One line a delta: number of the call in the order they came, step, attempt, what it was, its origin.
#[derive(Clone, Default)]
struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    first: Arc<OnceLock<u64>>,
    all_kinds: bool,
}

impl Lines {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }
}

impl DeltaSink for Lines {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let what = match delta {
            EffectDelta::Reset { attempt, .. } => format!("<{attempt}>"),
            EffectDelta::Done { .. } => ".".to_owned(),
            delta => delta.text().unwrap_tainted().to_owned(),
        };
        let number = call.number() - self.first.get_or_init(|| call.number());
        let origin = delta.text().origins().iter().next().unwrap().as_str().to_owned();
        let line = format!("{number} {} {} {what} {origin}", call.step_id(), call.attempt());
        self.lines.lock().unwrap().push(line);
    }

    fn wants(&self) -> DeltaKinds {
        if self.all_kinds { DeltaKinds::ALL } else { DeltaKinds::TEXT }
    }
}

/// Runs twice what fails.
fn runtime() -> EffectRuntime {
    let again = around("again", |_, mut next| {
        Box::pin(async move {
            match next.run().await {
                Err(error) if error.name() == ErrorName::Provider => next.run().await,
                ended => ended,
            }
        })
    });
    EffectRuntime::builder().allow_all_calls().around(again).effect(Says).build().unwrap()
}

async fn call(runtime: &EffectRuntime, text: &str, sink: &Arc<RetractableSink>) -> Result<String, CallError> {
    struct Shared(Arc<RetractableSink>);

    impl DeltaSink for Shared {
        fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
            self.0.deliver(call, delta);
        }

        fn wants(&self) -> DeltaKinds {
            self.0.wants()
        }
    }

    let says = runtime.tool::<String, String>("says").unwrap();
    runtime.invoke_transient(says, text.to_owned()).on_delta_sink(Shared(Arc::clone(sink))).await
}

/// D11, D12: one reset, under the failed call's own reference, its origin and the attempt after its last.
#[tokio::test]
async fn what_a_failed_call_showed_is_taken_back_once() {
    let (runtime, lines) = (runtime(), Lines::default());
    let sink = Arc::new(RetractableSink::new(Arc::new(lines.clone())));
    assert!(!sink.retract(), "nothing was shown yet");
    assert!(call(&runtime, "it fails", &sink).await.is_err());
    let shown = ["0 says 1 it fails llm:says", "0 says 2 <2> llm:says", "0 says 2 it fails llm:says"];
    assert_eq!(lines.take(), shown);
    assert!(sink.retract() && !sink.retract());
    assert_eq!(lines.take(), ["0 says 3 <3> llm:says"]);
}

/// D6: where the call sent done, or was reset and showed nothing since, there is nothing to take back.
#[tokio::test]
async fn what_has_ended_or_was_reset_is_not_taken_back() {
    let (runtime, lines) = (runtime(), Lines::default());
    let sink = Arc::new(RetractableSink::new(Arc::new(lines.clone())));
    assert!(call(&runtime, "good", &sink).await.is_ok());
    assert!(!sink.retract());
    assert_eq!(lines.take(), ["0 says 1 good llm:says", "0 says 1 . llm:says"]);
    assert!(call(&runtime, "later fails", &sink).await.is_err());
    assert!(!sink.retract());
    assert_eq!(lines.take(), ["1 says 1 later fails llm:says", "1 says 2 <2> llm:says"]);
}

/// D20: it asks for what the inner sink asks for, and takes back any kind.
#[tokio::test]
async fn it_asks_for_the_kinds_of_the_sink_behind_it() {
    let (runtime, lines) = (runtime(), Lines { all_kinds: true, ..Lines::default() });
    let sink = Arc::new(RetractableSink::new(Arc::new(lines.clone())));
    assert!(call(&runtime, "later fails", &sink).await.is_err());
    assert_eq!(lines.take().last().unwrap(), "0 says 2 hm llm:says", "only reasoning came after the reset");
    assert!(sink.retract());
    assert_eq!(lines.take(), ["0 says 3 <3> llm:says"]);
}

/// D6: a panic of the sink is reported once a call by the runtime, and not again where it is told to take back.
#[tokio::test]
async fn a_panic_of_the_sink_is_reported_once() {
    struct Panics(AtomicU32);

    impl DeltaSink for Panics {
        fn deliver(&self, _call: &CallRef<'_>, _delta: &EffectDelta<'_>) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("sink");
        }
    }

    let warned = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&warned);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .on_warn(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        })
        .effect(Says)
        .build()
        .unwrap();
    let panics = Arc::new(Panics(AtomicU32::new(0)));
    let sink = Arc::new(RetractableSink::new(Arc::clone(&panics) as Arc<dyn DeltaSink>));
    assert_eq!(call(&runtime, "it fails", &sink).await.unwrap_err().name(), ErrorName::Provider);
    assert!(sink.retract() && !sink.retract());
    assert_eq!((panics.0.load(Ordering::SeqCst), warned.load(Ordering::SeqCst)), (2, 1));
}

/// A sink that takes back from inside a delivery is served, not dead-locked.
#[tokio::test]
async fn a_sink_may_take_back_from_inside_a_delivery() {
    #[derive(Default)]
    struct Hasty {
        around: OnceLock<Arc<RetractableSink>>,
        resets: AtomicU32,
    }

    impl DeltaSink for Hasty {
        fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
            match delta {
                EffectDelta::Text { .. } => assert!(self.around.get().unwrap().retract()),
                _ => _ = self.resets.fetch_add(1, Ordering::SeqCst),
            }
        }
    }

    let hasty = Arc::new(Hasty::default());
    let sink = Arc::new(RetractableSink::new(Arc::clone(&hasty) as Arc<dyn DeltaSink>));
    assert!(hasty.around.set(Arc::clone(&sink)).is_ok());
    assert!(call(&runtime(), "it fails", &sink).await.is_err());
    // Taken back in each of two attempts, and one reset between them.
    assert_eq!(hasty.resets.load(Ordering::SeqCst), 3);
    assert!(!sink.retract());
}
