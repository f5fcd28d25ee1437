//! Replay: a flow's code against its journal, with no effect, no decider and no sink.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use loom_effect_runtime::{AbortReason, CallError, ExecutionCancelledError};
use serde_json::Value;

use crate::Workflow;
use crate::ctx::Ctx;
use crate::engine::{Access, Advance, Drive, Ending, Execution, FlowPoll};
use crate::error::{Nondeterminism, WorkflowError};
use crate::failure;
use crate::record::{Event, ExecutionId, Record};
use crate::store::StoreError;
use crate::workflow::begin::{history, outcome, pinned};

/// How a recorded execution ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Replayed {
    /// As it did then: the flow's output, its failure, or how it was cancelled.
    Ended(Result<Value, WorkflowError>),
    /// It has not ended: the journal was served to its last record, and what the flow asked for next was not run.
    Unfinished,
}

/// What a replay served.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayReport {
    /// How the execution ended.
    pub outcome: Replayed,
    /// Recorded steps that were served.
    pub served_steps: u64,
    /// Recorded decisions that were served.
    pub served_decisions: u64,
    /// Effects and deciders that were started: counted, and always 0.
    pub effect_calls: u64,
    /// The records of the journal.
    pub events: u64,
}

impl Workflow {
    /// Runs a flow's code against its journal and serves every step and decision of it, without a call, a lock or a
    /// write. Works on a store that is open for reading only, and while the execution runs elsewhere.
    ///
    /// # Errors
    /// [`WorkflowError::Nondeterminism`] where code and journal part: the flow asks for what is not recorded, leaves
    /// out what is, or ends otherwise than it did. What the store meets.
    ///
    /// # Cancel safety
    /// Dropping it drops nothing but the replay.
    pub async fn replay(&self, id: &ExecutionId) -> Result<ReplayReport, WorkflowError> {
        let parts = self.parts();
        let head = parts.store.head(id).await?.ok_or(StoreError::NotFound)?;
        let (started, journal) = history(&*parts.store, &head).await?;
        let (execution, flow) = pinned(parts, id, &head, &started, journal, Access::Reads)?;
        let flow = Drive::new(flow.run(Ctx::new(Arc::clone(&execution)), started.input));
        let outcome = Replay { execution: Arc::clone(&execution), flow }.run().await?;
        let tally = execution.engine(|engine| engine.tally());
        Ok(ReplayReport {
            outcome,
            served_steps: tally.served_steps,
            served_decisions: tally.served_decisions,
            effect_calls: tally.started,
            events: head.last_seq,
        })
    }
}

struct Replay {
    execution: Arc<Execution>,
    flow: Drive,
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.flow.drop_caught();
        self.execution.close();
    }
}

impl Replay {
    async fn run(mut self) -> Result<Replayed, WorkflowError> {
        let given = poll_fn(|cx| {
            loop {
                match self.flow.poll(cx) {
                    FlowPoll::Ready(given) => return Poll::Ready(Ok(Some(given))),
                    FlowPoll::Again => {
                        // A flow that wakes itself for ever must not hold the thread.
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    FlowPoll::Waits => {}
                }
                match self.execution.engine(|engine| engine.advance()) {
                    Advance::Resolved(path) => self.execution.wake(&path),
                    Advance::Cancelled(kind) => {
                        self.execution.signal.abort_with(ExecutionCancelledError { kind });
                        self.execution.wake_all();
                    }
                    Advance::Mismatch(mismatch) => return Poll::Ready(Err(mismatch)),
                    Advance::Ended(record) => return Poll::Ready(self.stands_still(&record).map(|()| None)),
                    Advance::Live | Advance::Idle | Advance::Exhausted => return Poll::Ready(Ok(None)),
                }
            }
        });
        let given = given.await?;
        self.flow.drop_caught();
        let terminal = self.execution.engine(|engine| engine.terminal());
        let Some(given) = given else {
            return match terminal {
                Some(record) => Ok(Replayed::Ended(outcome(&record)?)),
                None => Ok(Replayed::Unfinished),
            };
        };
        let at_ms = self.execution.clock.now_ms();
        let given = given.map_err(failure::recordable);
        let reason = |kind| Arc::new(ExecutionCancelledError { kind }) as AbortReason;
        let ending = self.execution.engine(|engine| engine.finish(given, reason, at_ms))?;
        match self.execution.engine(|engine| engine.terminal()) {
            None => Ok(Replayed::Unfinished),
            Some(record) if agrees(&ending, &record) => Ok(Replayed::Ended(outcome(&record)?)),
            Some(record) => Err(self.differs(&record, &ending)),
        }
    }

    /// The journal is at its end and the flow waits: for a decider that failed then, for what a cancel, a panic or the
    /// history's bound had kept from it, or for something that the journal has not.
    fn stands_still(&self, record: &Record) -> Result<(), Box<Nondeterminism>> {
        let engine = |ask: fn(&mut crate::engine::Engine) -> bool| self.execution.engine(ask);
        let explained = match &record.event {
            Event::ExecutionCancelled(_) => true,
            Event::ExecutionFailed(event) => {
                engine(|engine| engine.awaits_decision())
                    || failure::read(&event.failure, None).rule() == Some("history")
            }
            _ => false,
        };
        if explained { Ok(()) } else { Err(self.execution.engine(|engine| engine.mismatch(record))) }
    }

    fn differs(&self, record: &Record, ending: &Ending) -> WorkflowError {
        let got = match ending {
            Ending::Completed(_) => "another output".to_owned(),
            Ending::Failed(error) => format!("a failure by the name `{}`", error.name()),
            Ending::Cancelled(kind, _) => format!("an end by `{}`", kind.as_str()),
        };
        self.execution.engine(|engine| engine.differs(record, got)).into()
    }
}

/// Whether a flow ended as its journal says.
fn agrees(ending: &Ending, record: &Record) -> bool {
    let same =
        |error: &CallError, then: &CallError| error.name() == then.name() && error.rule() == then.rule();
    match (ending, &record.event) {
        (Ending::Completed(output), Event::ExecutionCompleted(event)) => *output == event.output,
        (Ending::Failed(error), Event::ExecutionFailed(event)) => {
            same(error, &failure::read(&event.failure, None))
        }
        (Ending::Cancelled(..), Event::ExecutionCancelled(_)) => true,
        _ => false,
    }
}
