//! What a flow is given: its only ways to an effect, and what it may say.

mod step;

use loom_effect_runtime::engine::EngineCall;
use std::future::Future;
use std::sync::Arc;

use loom_effect_runtime::{CallError, Data, DurableStep, ErrorName, Launch, Signal, ToolRef};
use serde::Serialize;

pub use step::{StepCall, StepFuture};
pub(crate) use step::{given, recorded, typed};

use crate::decide::{Decide, DecideScope};
use crate::engine::{Command, Execution, Place};
use crate::record::{DecisionId, ExecutionId, ID_BYTES_MAX};

/// A flow's context. Cheap to clone.
///
/// Effects are reached through [`run`](Self::run) and [`decide`](Self::decide) alone (spec row T19).
///
/// # Determinism
/// A flow decides by its input and by what its context gave it, and awaits nothing else: no clock, no randomness, no
/// sleep, no task of its own. Steps may be joined and raced; the flow sees their results one at a time, in the
/// journal's order, live as on replay. Branch on an error's name, rule and typed detail: its message and source do
/// not survive a restart.
#[derive(Clone)]
pub struct Ctx {
    execution: Arc<Execution>,
}

impl Ctx {
    pub(crate) fn new(execution: Arc<Execution>) -> Self {
        Self { execution }
    }

    /// Runs an effect as a recorded step. Its id, made unique by `~n` at the n-th use, is the step's place in the
    /// journal and with the execution's id the provider's idempotency key. The path is taken when this is called;
    /// the step starts when it is first polled.
    ///
    /// A recorded step is served and not run. One that was running in a crash runs again, under the same key: an
    /// effect happens at least once, its record once.
    ///
    /// # Errors
    /// The await answers what the effect failed with; `InputInvalidError` when the id is no id; a quota refusal by
    /// the rule `journal.payload` when no journal keeps the output. A journal that does not fit, or a store that
    /// fails, never comes here: the execution stops.
    ///
    /// # Cancel safety
    /// A dropped step is aborted and its result not recorded.
    pub fn run<T: ToolRef<I>, I: Data>(
        &self,
        step_id: &str,
        tool: T,
        input: I,
    ) -> StepCall<impl Launch<Out = T::Out> + use<T, I>> {
        let execution = &self.execution;
        // An unknown tool is a step too, under no effect: its failure is recorded, and served on replay.
        let facts = tool.resolve(&execution.caller).ok().and_then(|index| execution.tool(index));
        let command = facts.map_or_else(
            || Command::Step { effect: "".into(), input_schema_hash: "-".into(), journaled: false },
            |facts| Command::Step {
                effect: Arc::clone(&facts.id),
                input_schema_hash: Arc::clone(&facts.input_schema_hash),
                journaled: facts.journaled,
            },
        );
        let place = Place::name(execution, step_id, command);
        let path = place.as_ref().map_or("", |place| place.path.as_str());
        let step = DurableStep::new(step_id, format!("{}:{path}", execution.id));
        let call = execution.caller.invoke_transient(tool, input).durable(step);
        let call = call.signal(execution.signal.clone()).signal(execution.over.clone());
        StepCall::new(place, call, facts.map_or_else(|| "".into(), |facts| Arc::clone(&facts.id)))
    }

    /// Records what a decider returns, and nothing else of it (spec row D5). The decider may call effects
    /// transiently through its [`DecideScope`]; on replay neither it nor they nor a sink runs.
    ///
    /// # Errors
    /// The await answers the decider's failure. If the flow propagates it, the journal ends with the execution's
    /// failure and holds nothing of the decider (spec row T13); if the flow goes on, the failure's name is recorded
    /// with what follows, so that replay takes the same way.
    ///
    /// # Panics
    /// A decider's panic fails the execution with `EffectPanickedError`, not the process.
    ///
    /// # Cancel safety
    /// A dropped decision closes its scope, and records nothing.
    pub fn decide<T, D, F>(&self, decision_id: &str, decider: D) -> Decide<D, F>
    where
        T: Data,
        D: FnOnce(DecideScope) -> F,
        F: Future<Output = Result<T, CallError>>,
    {
        let place = DecisionId::new(decision_id)
            .map_err(|error| {
                CallError::with_source(ErrorName::InputInvalid, "a decision's id is no id", error)
            })
            .and_then(|id| Place::name(&self.execution, decision_id, Command::Decision(id)));
        Decide::new(place, decision_id.into(), decider)
    }

    /// Says something about the flow's domain; it joins the next append.
    ///
    /// # Errors
    /// `InputInvalidError` when `kind` is empty or longer than [`ID_BYTES_MAX`] bytes or the payload has no JSON
    /// form; a quota refusal when the payload or the history is too large.
    pub fn emit(&self, kind: &str, payload: impl Serialize) -> Result<(), CallError> {
        if !(1..=ID_BYTES_MAX).contains(&kind.len()) {
            return Err(CallError::named(ErrorName::InputInvalid, "an event's kind has 1 to 128 bytes"));
        }
        let payload = serde_json::to_value(payload)
            .map_err(|_| CallError::named(ErrorName::InputInvalid, "an event's payload has no JSON form"))?;
        let at_ms = self.execution.clock.now_ms();
        self.execution.engine(|engine| engine.emit(kind, payload, at_ms))
    }

    /// The execution's id.
    #[must_use]
    pub fn execution_id(&self) -> &ExecutionId {
        &self.execution.id
    }

    /// Raised when the execution is cancelled or its deadline passes. Calls have it already.
    #[must_use]
    pub fn signal(&self) -> &Signal {
        &self.execution.signal
    }
}

impl std::fmt::Debug for Ctx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ctx").field("execution_id", &self.execution.id).finish_non_exhaustive()
    }
}
