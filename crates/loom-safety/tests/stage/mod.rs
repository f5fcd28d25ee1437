//! One effect that follows a script, in a real runtime with a sink that folds what it gets.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code outside a test function")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use loom_classify::Tainted;
use loom_effect_runtime::{
    CallError, CallRef, Data, DeltaKinds, DeltaSink, Effect, EffectContext, EffectDelta, EffectRuntime, Lane,
    around,
};
use loom_safety::SafetyMiddleware;
use serde_json::Value;

/// A piece of live text and its lane.
#[derive(Clone, Copy)]
pub(crate) struct Write(pub(crate) Lane, pub(crate) &'static str);

/// Writes an attempt's pieces; every attempt but the last then fails.
struct Say<T> {
    attempts: Vec<Vec<(Lane, String)>>,
    output: T,
    executions: Arc<AtomicUsize>,
}

#[derive(Debug, thiserror::Error)]
#[error("broke off")]
struct BrokeOff;

impl<T: Data> Effect for Say<T> {
    type Input = Value;
    type Output = T;
    fn id(&self) -> &str {
        "say"
    }
    async fn execute(&self, _input: &Value, cx: &EffectContext<'_>) -> Result<T, CallError> {
        let attempt = self.executions.fetch_add(1, Ordering::Relaxed);
        for (lane, text) in &self.attempts[attempt % self.attempts.len()] {
            cx.deltas().write(*lane, text)?;
        }
        if attempt + 1 < self.attempts.len() {
            Err(CallError::failed(BrokeOff))
        } else {
            Ok(self.output.clone())
        }
    }
    fn repeatable(&self) -> bool {
        true
    }
}

/// What the sink has: text appends, a reset clears.
#[derive(Clone)]
struct Fold(Arc<Mutex<String>>, DeltaKinds);

impl DeltaSink for Fold {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let mut seen = self.0.lock().unwrap();
        match delta {
            EffectDelta::Reset { .. } => seen.clear(),
            delta => seen.push_str(delta.text().unwrap_tainted()),
        }
    }
    fn wants(&self) -> DeltaKinds {
        self.1
    }
}

/// What is on the stage, before the guards are.
pub(crate) struct Script<T = Value> {
    attempts: Vec<Vec<(Lane, String)>>,
    output: T,
    wants: DeltaKinds,
}

/// A runtime with the scripted effect, guarded.
pub(crate) struct Stage {
    runtime: EffectRuntime,
    executions: Arc<AtomicUsize>,
    fold: Fold,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub(crate) fn saying(deltas: &[&str], output: Value) -> Script {
        Self::attempts(&[deltas], output)
    }

    pub(crate) fn attempts(attempts: &[&[&str]], output: Value) -> Script {
        let texts = |deltas: &&[&str]| deltas.iter().map(|text| (Lane::TEXT, (*text).to_owned())).collect();
        Script { attempts: attempts.iter().map(texts).collect(), output, wants: DeltaKinds::TEXT }
    }

    pub(crate) fn writing(writes: Vec<Write>, output: Value) -> Script {
        let attempt = writes.into_iter().map(|Write(lane, text)| (lane, text.to_owned())).collect();
        Script { attempts: vec![attempt], output, wants: DeltaKinds::TEXT }
    }

    pub(crate) async fn call(&self, input: Value) -> Result<Value, CallError> {
        self.runtime.invoke_transient("say", input).on_delta_sink(self.fold.clone()).await
    }

    /// The call by its typed handle, so that the output is never JSON.
    pub(crate) async fn call_typed(&self) -> Result<Tainted<String>, CallError> {
        let say = self.runtime.tool::<Value, Tainted<String>>("say")?;
        self.runtime.invoke_transient(say, Value::Null).await
    }

    pub(crate) fn seen(&self) -> String {
        self.fold.0.lock().unwrap().clone()
    }

    pub(crate) fn executions(&self) -> usize {
        self.executions.load(Ordering::Relaxed)
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap().clone()
    }
}

impl<T: Data> Script<T> {
    pub(crate) fn wanting(mut self, kinds: DeltaKinds) -> Self {
        self.wants = kinds;
        self
    }

    pub(crate) fn typed<U: Data>(self, output: U) -> Script<U> {
        Script { attempts: self.attempts, output, wants: self.wants }
    }

    pub(crate) fn guarded_by(self, safety: SafetyMiddleware) -> Stage {
        let executions = Arc::new(AtomicUsize::new(0));
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&warnings);
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .middleware(safety.clone())
            .output_middleware(safety)
            .around(around("again", |_call, mut next| {
                Box::pin(async move {
                    match next.run().await {
                        Err(error) if !error.is_refusal() => next.run().await,
                        settled => settled,
                    }
                })
            }))
            .on_warn(move |warning| told.lock().unwrap().push(warning.to_string()))
            .effect(Say { attempts: self.attempts, output: self.output, executions: Arc::clone(&executions) })
            .build()
            .unwrap();
        Stage { runtime, executions, fold: Fold(Arc::default(), self.wants), warnings }
    }
}
