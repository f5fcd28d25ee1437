//! How a drive begins: a new execution, one that is over, or one that an earlier process left.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::{
    CallError, ErrorName, ExecutionCancelledError, Identity, Principal, Refusal, RunAs,
};
use serde_json::Value;
use tokio::sync::watch;
use tracing::Instrument;

use super::{Parts, Registry, StartOptions};
use crate::ctx::Ctx;
use crate::engine::{Access, Drive, Driver, Ending, Engine, Execution, Stop};
use crate::error::{Nondeterminism, WorkflowError};
use crate::failure;
use crate::flow::Flow;
use crate::handle::{Phase, Running};
use crate::identity;
use crate::record::{Event, ExecutionId, ExecutionStarted, Record, RecordFault};
use crate::store::{EventStore, Head, Read, Start, Started, StoreError};

/// One execution's task, from its start to its end in this process.
pub(super) struct Begin {
    pub(super) parts: Arc<Parts>,
    pub(super) registry: Arc<Registry>,
    pub(super) running: Arc<Running>,
    pub(super) flow: Flow,
    pub(super) options: StartOptions,
}

/// An execution's place in the registry, left also on a panic.
struct RegistryEntry(Arc<Registry>, ExecutionId);

impl Drop for RegistryEntry {
    fn drop(&mut self) {
        self.0.leave(&self.1);
    }
}

/// What a start came to.
enum Begun {
    Over(Result<Value, WorkflowError>),
    Drives(Box<Driver>),
}

impl Begin {
    pub(super) async fn run(self, phase: watch::Sender<Phase>) {
        let entry = RegistryEntry(Arc::clone(&self.registry), self.running.id.clone());
        let begun = self.begin().await;
        let told = match begun {
            Err(error) => Phase::Refused(error),
            Ok(Begun::Over(outcome)) => Phase::Ended(outcome),
            Ok(Begun::Drives(driver)) => {
                phase.send_replace(Phase::Running);
                Phase::Ended(drive(*driver, &self.parts).await)
            }
        };
        // It leaves the registry before its phase is told, so that who starts it again then finds no stale entry.
        drop(entry);
        phase.send_replace(told);
    }

    async fn begin(&self) -> Result<Begun, WorkflowError> {
        let (store, id) = (&self.parts.store, &self.running.id);
        let started = self.started();
        let start = Start::new(id.clone(), self.parts.clock.now_ms(), started.clone());
        let head = match store.start(start).await? {
            Started::Created(head) => return self.drives(head, &started, VecDeque::new()),
            Started::Attached(head) if head.status.is_terminal() => head,
            Started::Attached(_) => match store.take_over(id).await {
                Ok(head) => {
                    let (started, journal) = history(&**store, &head).await?;
                    return match self.drives(head.clone(), &started, journal) {
                        Err(WorkflowError::Nondeterminism(mismatch)) => {
                            store.block(id, head.fence()).await?;
                            Err(WorkflowError::Nondeterminism(mismatch))
                        }
                        begun => begun,
                    };
                }
                // It ended between the two calls.
                Err(StoreError::Ended { .. }) => store.head(id).await?.ok_or(StoreError::NotFound)?,
                Err(error) => return Err(error.into()),
            },
        };
        let last = Read::from_seq(id.clone(), head.last_seq);
        let page = store.read(last).await?;
        let missing = StoreError::Corrupt { seq: Some(head.last_seq), fault: RecordFault::Missing };
        let record = page.records.into_iter().next_back().ok_or(missing)?;
        Ok(Begun::Over(outcome(&record)?))
    }

    fn started(&self) -> ExecutionStarted {
        let running = &self.running;
        let revision = self.flow.revision().to_owned();
        let mut started = ExecutionStarted::new(running.flow.clone(), revision, running.input.clone());
        started.deadline_at_ms = self.options.deadline.map(|deadline| {
            let ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
            self.parts.clock.now_ms().saturating_add(ms)
        });
        let anonymous = || Identity::default().principal().clone();
        started.identity = identity::record(&self.options.principal.clone().unwrap_or_else(anonymous));
        started
    }

    /// The driver of an execution, at the revision and as the principal of its first start.
    fn drives(
        &self,
        head: Head,
        started: &ExecutionStarted,
        journal: VecDeque<Record>,
    ) -> Result<Begun, WorkflowError> {
        let id = self.running.id.clone();
        let (execution, flow) = pinned(&self.parts, &id, &head, started, journal, Access::Drives)?;
        let deadline = started.deadline_at_ms.map(|at_ms| self.deadline(at_ms));
        let flow = Drive::new(flow.run(Ctx::new(Arc::clone(&execution)), started.input.clone()));
        let (store, running) = (Arc::clone(&self.parts.store), Arc::clone(&self.running));
        Ok(Begun::Drives(Box::new(Driver::new(execution, store, running, flow, head, deadline))))
    }

    fn deadline(&self, at_ms: u64) -> BoxFuture<'static, ()> {
        let left = Duration::from_millis(at_ms.saturating_sub(self.parts.clock.now_ms()));
        self.parts.clock.sleep(left).unwrap_or_else(|| Box::pin(std::future::ready(())))
    }
}

/// Drives to the end, or says why it stopped.
async fn drive(driver: Driver, parts: &Parts) -> Result<Value, WorkflowError> {
    let execution = Arc::clone(driver.execution());
    let span = tracing::debug_span!(
        "loom.execution",
        loom.execution = %execution.id,
        loom.flow = %driver.head().flow,
        loom.epoch = driver.head().epoch,
    );
    match driver.run().instrument(span).await {
        Ok(Ending::Completed(output)) => Ok(output),
        Ok(Ending::Failed(error)) => Err(error.into()),
        Ok(Ending::Cancelled(kind, reason)) => Err(WorkflowError::Cancelled { kind, reason }),
        Err(Stop::Blocked(mismatch, fence)) => {
            tracing::warn!(loom.execution = %execution.id, loom.seq = mismatch.seq, "execution is blocked");
            if let Err(error) = parts.store.block(&execution.id, fence).await {
                tracing::warn!(loom.execution = %execution.id, "the execution could not be marked as blocked: {error}");
            }
            Err(mismatch.into())
        }
        Err(Stop::Store(error)) => Err(error.into()),
    }
}

/// An execution with its engine, and the flow it is pinned to.
pub(crate) fn pinned(
    parts: &Parts,
    id: &ExecutionId,
    head: &Head,
    started: &ExecutionStarted,
    journal: VecDeque<Record>,
    access: Access,
) -> Result<(Arc<Execution>, Flow), WorkflowError> {
    let flow = parts.pinned(&started.flow, &started.revision).ok_or_else(|| Nondeterminism {
        seq: 1,
        expected: format!("flow `{}` at revision `{}`", started.flow, started.revision),
        got: "no such revision registered".to_owned(),
        revision: started.revision.clone(),
    })?;
    let principal = match &started.identity {
        None => Identity::default().principal().clone(),
        Some(recorded) => identity::read(recorded).ok_or_else(unknown_identity)?,
    };
    let caller = caller(parts, principal, id, started);
    let engine = Engine::new(started.revision.as_str().into(), head, journal, access);
    let (clock, tools) = (Arc::clone(&parts.clock), Arc::clone(&parts.tools));
    Ok((Execution::new(id.clone(), caller, clock, tools, head.epoch, engine), flow))
}

/// What a journal holds: its start, and the rest.
pub(crate) async fn history(
    store: &dyn EventStore,
    head: &Head,
) -> Result<(ExecutionStarted, VecDeque<Record>), WorkflowError> {
    let mut read = Read::from_start(head.execution.clone());
    let mut journal = VecDeque::new();
    loop {
        let page = store.read(read).await?;
        journal.extend(page.records.into_iter().filter(|record| record.seq <= head.last_seq));
        match page.next_seq {
            Some(next) if next <= head.last_seq => read = Read::from_seq(head.execution.clone(), next),
            _ => break,
        }
    }
    match journal.pop_front().map(|record| record.event) {
        Some(Event::ExecutionStarted(started)) => Ok((started, journal)),
        _ => Err(StoreError::Corrupt { seq: Some(1), fault: RecordFault::Kind }.into()),
    }
}

/// The outcome that a journal ends with.
pub(crate) fn outcome(last: &Record) -> Result<Result<Value, WorkflowError>, WorkflowError> {
    match &last.event {
        Event::ExecutionCompleted(event) => Ok(Ok(event.output.clone())),
        Event::ExecutionFailed(event) => Ok(Err(failure::read(&event.failure, None).into())),
        Event::ExecutionCancelled(event) => {
            let kind = event.kind.into();
            Ok(Err(WorkflowError::Cancelled { kind, reason: Arc::new(ExecutionCancelledError { kind }) }))
        }
        _ => Err(StoreError::Corrupt { seq: Some(last.seq), fault: RecordFault::Kind }.into()),
    }
}

fn caller(
    parts: &Parts,
    principal: Principal,
    id: &ExecutionId,
    started: &ExecutionStarted,
) -> loom_effect_runtime::Caller {
    let run_as = RunAs::new(started.flow.as_str(), id.as_str());
    parts.runtime.caller(Identity::execution(principal, run_as))
}

/// Nobody may run as a principal that this version cannot read.
#[cold]
fn unknown_identity() -> CallError {
    CallError::from(Refusal::new(ErrorName::ExecutionDenied, "identity"))
}
