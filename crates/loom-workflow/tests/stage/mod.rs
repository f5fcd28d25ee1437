//! A stage for executions: effects made of closures that count their runs, gates, and a journal to look into.

#![allow(dead_code, reason = "each test binary uses a part of the stage")]

pub(crate) mod between;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use loom_effect_runtime::{
    CallError, CallRef, Clock, DeltaSink, Effect, EffectContext, EffectDelta, EffectMode, EffectRuntime,
    TokioClock, Usage,
};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::{ExecutionId, Record};
use loom_workflow::store::{EventStore, Read};
use loom_workflow::{Flow, StartOptions, Workflow};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

pub(crate) type Body = Arc<
    dyn for<'a> Fn(&'a Value, &'a EffectContext<'a>) -> BoxFuture<'a, Result<Value, CallError>> + Send + Sync,
>;

/// An effect made of a closure over JSON.
#[derive(Clone)]
pub(crate) struct Act {
    pub(crate) id: &'static str,
    pub(crate) mode: Option<EffectMode>,
    pub(crate) schema: Option<Value>,
    pub(crate) sink: Option<Arc<dyn DeltaSink>>,
    pub(crate) runs: Arc<AtomicU32>,
    body: Body,
}

impl Act {
    pub(crate) fn new<F>(id: &'static str, body: F) -> Self
    where
        F: for<'a> Fn(&'a Value, &'a EffectContext<'a>) -> BoxFuture<'a, Result<Value, CallError>>
            + Send
            + Sync
            + 'static,
    {
        Self { id, mode: None, schema: None, sink: None, runs: Arc::default(), body: Arc::new(body) }
    }

    /// Gives back `{"did": input}`.
    pub(crate) fn echo(id: &'static str) -> Self {
        Self::new(id, |input, _| Box::pin(async move { Ok(json!({"did": input})) }))
    }

    /// Says what it will give, then gives it.
    pub(crate) fn says(id: &'static str, pieces: &'static [&'static str]) -> Self {
        Self::new(id, move |_, cx| {
            Box::pin(async move {
                let deltas = cx.deltas();
                for piece in pieces {
                    deltas.text(piece)?;
                }
                Ok(json!(pieces.concat()))
            })
        })
    }

    /// Writes a piece, tells that it did, and parks for ever.
    pub(crate) fn parks(id: &'static str, began: Arc<Notify>) -> Self {
        Self::new(id, move |_, cx| {
            let began = Arc::clone(&began);
            Box::pin(async move {
                cx.deltas().text("half a thought")?;
                began.notify_one();
                std::future::pending().await
            })
        })
    }

    /// Waits for a permit of a gate.
    pub(crate) fn gated(id: &'static str, gate: Arc<Semaphore>) -> Self {
        Self::new(id, move |input, _| {
            let gate = Arc::clone(&gate);
            Box::pin(async move {
                if let Ok(permit) = gate.acquire().await {
                    permit.forget();
                }
                Ok(json!({"did": input}))
            })
        })
    }

    /// Fails with an error.
    pub(crate) fn fails(id: &'static str, error: CallError) -> Self {
        Self::new(id, move |_, _| {
            let error = error.clone();
            Box::pin(async move { Err(error) })
        })
    }

    /// Reports usage.
    pub(crate) fn costs(id: &'static str, usage: Usage) -> Self {
        Self::new(id, move |_, cx| {
            Box::pin(async move {
                cx.usage(usage);
                Ok(json!("paid"))
            })
        })
    }

    pub(crate) fn mode(mut self, mode: EffectMode) -> Self {
        self.mode = Some(mode);
        self
    }

    pub(crate) fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    pub(crate) fn sink(mut self, sink: impl DeltaSink) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Effect for Act {
    type Input = Value;
    type Output = Value;

    fn id(&self) -> &str {
        self.id
    }

    async fn execute(&self, input: &Value, cx: &EffectContext<'_>) -> Result<Value, CallError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        (self.body)(input, cx).await
    }

    fn mode(&self) -> Option<EffectMode> {
        self.mode
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        self.sink.clone()
    }

    fn input_schema(&self) -> Option<Value> {
        self.schema.clone()
    }
}

/// A sink that writes down whose delta it got and its text.
#[derive(Clone, Default)]
pub(crate) struct Notes(pub(crate) Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }
}

impl DeltaSink for Notes {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let key = call.call_key().map(|key| format!(" {key}")).unwrap_or_default();
        let text = delta.text().unwrap_tainted().to_owned();
        let what = if matches!(delta, EffectDelta::Done { .. }) { "done".to_owned() } else { text };
        self.note(format!("{}/{}{key}: {what}", call.execution_id(), call.step_id()));
    }
}

/// Real time for the wall, tokio's (paused) time for timers.
pub(crate) struct TestClock;

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }

    fn monotonic(&self) -> std::time::Duration {
        TokioClock.monotonic()
    }

    fn sleep(&self, duration: std::time::Duration) -> Option<BoxFuture<'static, ()>> {
        TokioClock.sleep(duration)
    }
}

pub(crate) fn runtime(acts: impl IntoIterator<Item = Act>) -> EffectRuntime {
    acts.into_iter()
        .fold(EffectRuntime::builder().allow_all_calls().clock(TestClock), |builder, act| builder.effect(act))
        .build()
        .unwrap()
}

pub(crate) fn workflow(
    store: &MemoryStore,
    runtime: EffectRuntime,
    flows: impl IntoIterator<Item = Flow>,
) -> Workflow {
    on(Arc::new(store.clone()), runtime, flows)
}

pub(crate) fn on(
    store: Arc<dyn EventStore>,
    runtime: EffectRuntime,
    flows: impl IntoIterator<Item = Flow>,
) -> Workflow {
    let builder = Workflow::builder(runtime, store);
    flows.into_iter().fold(builder, loom_workflow::WorkflowBuilder::flow).build().unwrap()
}

pub(crate) fn id(text: &str) -> ExecutionId {
    ExecutionId::new(text).unwrap()
}

pub(crate) fn as_id(text: &str) -> StartOptions {
    StartOptions::new().execution_id(id(text))
}

pub(crate) async fn journal(store: &MemoryStore, execution: &str) -> Vec<Record> {
    store.read(Read::from_start(id(execution))).await.unwrap().records
}

/// A journal as lines of kind and path.
pub(crate) async fn kinds(store: &MemoryStore, execution: &str) -> Vec<String> {
    let line = |record: &Record| match &record.path {
        Some(path) => format!("{} {path}", record.event.kind()),
        None => record.event.kind().to_string(),
    };
    journal(store, execution).await.iter().map(line).collect()
}

/// Lets every other task run until all of them wait.
pub(crate) async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}
