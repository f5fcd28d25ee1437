//! The effect that stands behind a subject: its output is the text of every fact of its call.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loom_effect_runtime::{CallError, CallInfo, Data, Effect, EffectContext, ErrorName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Stands in every input of the kit, and so in every output: no error may quote it.
pub(crate) const CANARY: &str = "kit-canary-9f2c7b";
pub(crate) const TOOL: &str = "kit.tool";
pub(crate) const OTHER_TOOL: &str = "kit.other";
pub(crate) const TYPED_TOOL: &str = "kit.typed";

/// The input of [`TYPED_TOOL`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Typed {
    pub(crate) text: String,
    pub(crate) count: u64,
    pub(crate) tags: Vec<String>,
}

impl Typed {
    pub(crate) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), count: 1, tags: vec![CANARY.to_owned()] }
    }
}

/// What an execution does.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Answers in the ready lane, without a delta.
    Ready,
    /// Streams its text in two pieces, with waits between.
    Smooth,
    /// Streams and fails in the first attempt, then as `Smooth`.
    Flaky,
    /// Streams and fails so, in every attempt.
    Fails(CallError),
    /// Panics.
    Panics,
    /// Streams, then waits for ever.
    Parks,
    /// Streams so many pieces of so many bytes, which are its output; fails first where it is said.
    Writes { pieces: usize, bytes: usize, fails_first: bool },
}

/// What all probes of one runtime share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    plan: Arc<Mutex<Plan>>,
    started: Arc<AtomicUsize>,
    finished: Arc<AtomicUsize>,
}

impl Shared {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan: Arc::new(Mutex::new(plan)), started: Arc::default(), finished: Arc::default() }
    }

    /// What is done from now on.
    pub(crate) fn plan(&self, plan: Plan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    /// Executions begun.
    pub(crate) fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    /// Executions that came to an end of their own, good or bad.
    pub(crate) fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }

    fn planned(&self) -> Plan {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The effect itself, under one id.
pub(crate) struct Probe<I> {
    id: String,
    shared: Shared,
    input: PhantomData<fn(I)>,
}

impl<I> Probe<I> {
    pub(crate) fn new(id: &str, shared: &Shared) -> Self {
        Self { id: id.to_owned(), shared: shared.clone(), input: PhantomData }
    }
}

impl<I: Data> Effect for Probe<I> {
    type Input = I;
    type Output = String;

    fn id(&self) -> &str {
        &self.id
    }

    fn ready(&self, input: &I, cx: &EffectContext<'_>) -> Option<Result<String, CallError>> {
        if !matches!(self.shared.planned(), Plan::Ready) {
            return None;
        }
        self.shared.started.fetch_add(1, Ordering::SeqCst);
        self.shared.finished.fetch_add(1, Ordering::SeqCst);
        Some(Ok(facts(cx.call(), input)))
    }

    async fn execute(&self, input: &I, cx: &EffectContext<'_>) -> Result<String, CallError> {
        self.shared.started.fetch_add(1, Ordering::SeqCst);
        let result = run(self.shared.planned(), facts(cx.call(), input), cx).await;
        self.shared.finished.fetch_add(1, Ordering::SeqCst);
        result
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

async fn run(plan: Plan, text: String, cx: &EffectContext<'_>) -> Result<String, CallError> {
    match plan {
        Plan::Fails(error) => fail(error, cx).await,
        Plan::Flaky if cx.attempt() == 1 => fail(passing(), cx).await,
        Plan::Ready | Plan::Smooth | Plan::Flaky => smooth(text, cx).await,
        Plan::Parks => {
            cx.deltas().text("parked")?;
            std::future::pending().await
        }
        // Unwinds as a panic does, past the hook that would print it.
        Plan::Panics => std::panic::resume_unwind(Box::new("the kit's effect panics")),
        Plan::Writes { pieces, bytes, fails_first } => {
            let piece = "x".repeat(bytes);
            for _ in 0..pieces {
                cx.deltas().text(&piece)?;
            }
            if fails_first && cx.attempt() == 1 { Err(passing()) } else { Ok(piece.repeat(pieces)) }
        }
    }
}

async fn smooth(text: String, cx: &EffectContext<'_>) -> Result<String, CallError> {
    let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
    tokio::task::yield_now().await;
    cx.deltas().text(head)?;
    tokio::task::yield_now().await;
    cx.deltas().text(tail)?;
    if let Some(sleep) = cx.sleep(Duration::from_millis(10)) {
        sleep.await;
    }
    Ok(text)
}

async fn fail(error: CallError, cx: &EffectContext<'_>) -> Result<String, CallError> {
    cx.deltas().text("failed attempt")?;
    tokio::task::yield_now().await;
    Err(error)
}

/// A failure that may pass by itself.
pub(crate) fn passing() -> CallError {
    CallError::named(ErrorName::Provider, "the kit's provider failed")
}

/// Everything that tells one call from another, as JSON text.
fn facts(call: &CallInfo, input: &impl Serialize) -> String {
    let principal = call.identity().principal();
    let delegation = principal.delegation().map(|held| {
        let covered: Vec<&str> = held.covered().collect();
        json!({ "issuer": held.issuer(), "covered": covered })
    });
    json!({
        "tool": call.tool(),
        "input": canonical(serde_json::to_value(input).unwrap_or_default()),
        "chain": principal.chain().collect::<Vec<_>>(),
        "delegation": delegation,
        "actor": principal.actor(),
        "workflow": call.workflow_id(),
        "execution": call.execution_id(),
    })
    .to_string()
}

/// Keys in sorted order, whatever order the map type keeps.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().map(|(key, value)| (key, canonical(value))).collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(entries.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        plain => plain,
    }
}
