//! One execution as its flow's futures share it: the engine behind a lock, who waits, and what calls are made with.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use futures::task::AtomicWaker;
use loom_effect_runtime::{
    AbortError, AbortReason, CallError, CallKey, Caller, Clock, EffectMode, EffectRuntime, ErrorName,
    ExecutionCancelledError, Refusal, ResourceTotals, Signal,
};
use serde_json::Value;

use super::{Command, Engine, Turn};
use crate::record::{ExecutionId, StepId, StepPath};

/// The calls of one epoch: ordinals of the next one begin after them (spec row T8).
const CALLS_PER_EPOCH_MAX: u64 = u32::MAX as u64;

pub(crate) struct Execution {
    pub(crate) id: ExecutionId,
    pub(crate) caller: Caller,
    /// Raised when the execution is cancelled.
    pub(crate) signal: Signal,
    /// Raised when nobody drives it any more: a step that escaped from its flow is aborted.
    pub(crate) over: Signal,
    pub(crate) clock: Arc<dyn Clock>,
    tools: Arc<Tools>,
    epoch: u64,
    calls: AtomicU64,
    shared: Mutex<Shared>,
    driver: AtomicWaker,
}

struct Shared {
    engine: Engine,
    wakers: BTreeMap<StepPath, Waker>,
}

impl Execution {
    pub(crate) fn new(
        id: ExecutionId,
        caller: Caller,
        clock: Arc<dyn Clock>,
        tools: Arc<Tools>,
        epoch: u64,
        engine: Engine,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            caller,
            signal: Signal::new(),
            over: Signal::new(),
            clock,
            tools,
            epoch,
            calls: AtomicU64::new(0),
            shared: Mutex::new(Shared { engine, wakers: BTreeMap::new() }),
            driver: AtomicWaker::new(),
        })
    }

    /// Runs a change on the engine. No code of others runs under the lock.
    pub(crate) fn engine<R>(&self, change: impl FnOnce(&mut Engine) -> R) -> R {
        change(&mut self.shared().engine)
    }

    pub(crate) fn totals(&self) -> ResourceTotals {
        self.engine(|engine| engine.totals())
    }

    /// A key that no other call of the execution's life has: `(epoch - 1) * 2^32 + k` (spec row T8).
    pub(crate) fn call_key(&self, decision: &Arc<str>) -> Result<CallKey, CallError> {
        let k = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if k > CALLS_PER_EPOCH_MAX {
            return Err(CallError::from(Refusal::quota("execution.calls")));
        }
        Ok(CallKey::decide(Arc::clone(decision), (self.epoch.saturating_sub(1) << 32) + k))
    }

    /// Wakes who waits at a path.
    pub(crate) fn wake(&self, path: &StepPath) {
        let waker = self.shared().wakers.remove(path);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes everybody: what was asked may start now, or the flow is to end.
    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.shared().wakers);
        wakers.into_values().for_each(Waker::wake);
    }

    /// Nobody drives the execution any more: what escaped from its flow is aborted.
    pub(crate) fn close(&self) {
        self.engine(Engine::close);
        self.over.abort_with(AbortError::new());
        self.wake_all();
    }

    pub(crate) fn register_driver(&self, waker: &Waker) {
        self.driver.register(waker);
    }

    pub(crate) fn wake_driver(&self) {
        self.driver.wake();
    }

    /// The reason of a cancelled execution's aborts.
    pub(crate) fn cancel_reason(&self) -> AbortReason {
        self.signal.reason().unwrap_or_else(|| {
            let kind = self.engine(|engine| engine.cancelled());
            let kind = kind.unwrap_or(loom_effect_runtime::CancelKind::Cancel);
            Arc::new(ExecutionCancelledError { kind })
        })
    }

    /// The tool at an index of the runtime.
    pub(crate) fn tool(&self, index: u32) -> Option<&ToolFacts> {
        self.tools.0.get(index as usize)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A named ask; dropping it tells the engine that the flow no longer cares.
pub(crate) struct Place {
    pub(crate) execution: Arc<Execution>,
    pub(crate) path: StepPath,
}

impl Place {
    /// Names the next use of an id.
    ///
    /// # Errors
    /// `InputInvalidError` when it is no id.
    pub(crate) fn name(execution: &Arc<Execution>, id: &str, command: Command) -> Result<Self, CallError> {
        let id = StepId::new(id).map_err(|error| {
            CallError::with_source(ErrorName::InputInvalid, "a step's or decision's id is no id", error)
        })?;
        let path = execution.engine(|engine| engine.name(&id, command));
        Ok(Self { execution: Arc::clone(execution), path })
    }

    /// One poll; who has to wait is woken when that may have changed.
    pub(crate) fn turn(&self, cx: &mut Context<'_>) -> Turn {
        let at_ms = self.execution.clock.now_ms();
        let mut shared = self.execution.shared();
        let turn = shared.engine.turn(&self.path, at_ms);
        let waits = matches!(turn, Turn::Wait);
        let before = waits.then(|| shared.wakers.insert(self.path.clone(), cx.waker().clone()));
        let output = shared.engine.has_output();
        drop(shared);
        // A waker may run code of others when it is dropped, so none is dropped under the lock.
        drop(before);
        if output {
            self.execution.wake_driver();
        }
        turn
    }

    /// Gives the engine a result, and lets the driver see it.
    pub(crate) fn complete(&self, give: impl FnOnce(&mut Engine, &StepPath, u64)) {
        let at_ms = self.execution.clock.now_ms();
        self.execution.engine(|engine| give(engine, &self.path, at_ms));
        self.execution.wake_driver();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut shared = self.execution.shared();
        let waker = shared.wakers.remove(&self.path);
        shared.engine.abandon(&self.path);
        drop(shared);
        drop(waker);
    }
}

/// What replay compares of every registered effect, in registration order.
pub(crate) struct Tools(Vec<ToolFacts>);

pub(crate) struct ToolFacts {
    pub(crate) id: Arc<str>,
    pub(crate) input_schema_hash: Arc<str>,
    pub(crate) journaled: bool,
}

impl Tools {
    pub(crate) fn of(runtime: &EffectRuntime) -> Self {
        let facts = |id: &str| ToolFacts {
            id: id.into(),
            input_schema_hash: schema_hash(runtime.input_schema(id)),
            journaled: runtime.mode(id) == Some(EffectMode::Journaled),
        };
        Self(runtime.tool_ids().map(facts).collect())
    }
}

/// FNV-1a, 64 bits, over the schema's JSON with sorted keys; `-` where an effect states none. It tells versions of a
/// schema apart; it is no seal.
fn schema_hash(schema: Option<&Value>) -> Arc<str> {
    let Some(schema) = schema else { return "-".into() };
    let mut text = String::new();
    canonical(schema, &mut text);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}").into()
}

fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            text.push('{');
            for (key, value) in sorted {
                let _ = write!(text, "{}:", Value::String(key.clone()));
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        leaf => {
            let _ = write!(text, "{leaf}");
        }
    }
}
