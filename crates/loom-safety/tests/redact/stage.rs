//! Effects that say a text in pieces or give a value, a runtime around them, and a sink that folds.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code outside a test function")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use loom_effect_runtime::engine::EngineCall;
use loom_effect_runtime::{
    CallError, CallKey, CallRef, Caller, Data, DeltaKinds, DeltaSink, Effect, EffectContext, EffectDelta,
    EffectRuntime, Identity, Lane, OutputMiddleware, ResourceTotals, around,
};
use loom_safety::{PiiValidator, Placeholder, Redaction};
use serde_json::Value;

pub(crate) const CARD: &str = "4111 1111 1111 1111";

/// Personal data by a mask that no rule can match.
pub(crate) fn masking() -> Redaction {
    Redaction::new([PiiValidator::default().into()], Placeholder::text("[x]")).unwrap()
}

/// Says the pieces of an attempt on their lanes; every attempt but the last then fails, and the last gives the text of
/// the first text lane, which it states as its live text.
pub(crate) struct Says {
    attempts: Vec<Vec<(Lane, String)>>,
    executions: AtomicUsize,
}

#[derive(Debug, thiserror::Error)]
#[error("broke off")]
struct BrokeOff;

impl Says {
    pub(crate) fn new<S: AsRef<str>>(pieces: impl IntoIterator<Item = S>) -> Self {
        Self::on_lanes(pieces.into_iter().map(|piece| (Lane::TEXT, piece)))
    }

    pub(crate) fn on_lanes<S: AsRef<str>>(pieces: impl IntoIterator<Item = (Lane, S)>) -> Self {
        let attempt = pieces.into_iter().map(|(lane, text)| (lane, text.as_ref().to_owned())).collect();
        Self { attempts: vec![attempt], executions: AtomicUsize::new(0) }
    }

    pub(crate) fn after_failing(mut self, pieces: &[&str]) -> Self {
        let failing = pieces.iter().map(|text| (Lane::TEXT, (*text).to_owned())).collect();
        self.attempts.insert(0, failing);
        self
    }
}

impl Effect for Says {
    type Input = Value;
    type Output = String;
    fn id(&self) -> &str {
        "says"
    }
    async fn execute(&self, _input: &Value, cx: &EffectContext<'_>) -> Result<String, CallError> {
        let at = self.executions.fetch_add(1, Ordering::Relaxed);
        let pieces = &self.attempts[at % self.attempts.len()];
        for (lane, text) in pieces {
            cx.deltas().write(*lane, text)?;
        }
        if at + 1 < self.attempts.len() {
            return Err(CallError::failed(BrokeOff));
        }
        Ok(pieces.iter().filter(|(lane, _)| *lane == Lane::TEXT).map(|(_, text)| text.as_str()).collect())
    }
    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }
    fn repeatable(&self) -> bool {
        true
    }
}

/// Gives a value.
pub(crate) struct Gives<T>(pub(crate) T);

impl<T: Data> Effect for Gives<T> {
    type Input = Value;
    type Output = T;
    fn id(&self) -> &str {
        "gives"
    }
    async fn execute(&self, _input: &Value, _cx: &EffectContext<'_>) -> Result<T, CallError> {
        Ok(self.0.clone())
    }
}

/// What a sink has: the fold, and all that was ever delivered.
#[derive(Clone, Default)]
pub(crate) struct View(Arc<Mutex<(String, String)>>);

impl DeltaSink for View {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let (fold, ever) = &mut *self.0.lock().unwrap();
        if let EffectDelta::Reset { .. } = delta {
            fold.clear();
        }
        fold.push_str(delta.text().unwrap_tainted());
        ever.push_str(delta.text().unwrap_tainted());
    }
    fn wants(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }
}

impl View {
    pub(crate) fn fold(&self) -> String {
        self.0.lock().unwrap().0.clone()
    }

    pub(crate) fn ever(&self) -> String {
        self.0.lock().unwrap().1.clone()
    }
}

/// A runtime of one effect that tries a failure once more.
pub(crate) fn runtime(effect: impl Effect, redaction: impl OutputMiddleware) -> EffectRuntime {
    let again = around("again", |_call, mut next| {
        Box::pin(async move {
            match next.run().await {
                Err(error) if !error.is_refusal() => next.run().await,
                settled => settled,
            }
        })
    });
    let builder = EffectRuntime::builder().allow_all_calls().output_middleware(redaction);
    builder.around(again).effect(effect).on_warn(|_| {}).build().unwrap()
}

/// What a call of a saying effect gives, and what its sink has.
pub(crate) fn say(says: Says, redaction: impl OutputMiddleware) -> (Result<String, CallError>, View) {
    let runtime = runtime(says, redaction);
    let view = View::default();
    let tool = runtime.tool::<Value, String>("says").unwrap();
    let call = runtime.invoke_transient(tool, Value::Null).on_delta_sink(view.clone());
    (block_on(call.into_future()), view)
}

/// The output of a giving effect, redacted.
pub(crate) fn give<T: Data>(value: T, redaction: impl OutputMiddleware) -> Result<T, CallError> {
    let runtime = runtime(Gives(value), redaction);
    let tool = runtime.tool::<Value, T>("gives").unwrap();
    block_on(runtime.invoke_transient(tool, Value::Null).into_future())
}

/// The output of the saying effect for a caller, in its decide scope where there is a key.
pub(crate) fn said_to(runtime: &EffectRuntime, identity: &Identity, key: Option<CallKey>) -> String {
    let caller: Caller = runtime.caller(identity.clone());
    let tool = runtime.tool::<Value, String>("says").unwrap();
    let call = caller.invoke_transient(tool, Value::Null);
    let call = match key {
        Some(key) => call.in_scope(key, ResourceTotals::default()),
        None => call,
    };
    block_on(call.into_future()).unwrap()
}

/// Where `text` is cut into pieces, from a list of wished lengths.
pub(crate) fn cut<'a>(text: &'a str, lengths: &[usize]) -> Vec<&'a str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary((*length).min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
