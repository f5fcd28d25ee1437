//! The thin async side of the engine: polls the flow, appends what is queued, hears cancels and the deadline.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::task::AtomicWaker;
use loom_effect_runtime::{AbortReason, CallError, CancelKind, ErrorName, ExecutionCancelledError, InFlow};

use super::{Advance, Ending, Execution, Given, HISTORY_EVENTS_MAX, fits};
use crate::error::Nondeterminism;
use crate::failure;
use crate::handle::Running;
use crate::store::{Append, EventStore, Fence, Head, StoreError};

/// How long a cancelled flow may take to end by itself; then it is dropped.
pub const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// How often one turn of the driver polls a flow that wakes itself, before others get theirs.
const POLLS_PER_TURN_MAX: u32 = 256;

/// The events at which a history is reported as long: 80 % of what fits.
const HISTORY_WARN_EVENTS: u64 = HISTORY_EVENTS_MAX / 5 * 4;

/// A flow's future, marked so that a bare transient call in it is refused (spec row T19).
pub(crate) type FlowFuture = InFlow<BoxFuture<'static, Given>>;

/// Why a drive stopped before the execution's end.
#[derive(Debug)]
pub(crate) enum Stop {
    Blocked(Box<Nondeterminism>, Fence),
    Store(StoreError),
}

/// Drives one execution in one epoch.
pub(crate) struct Driver {
    execution: Arc<Execution>,
    store: Arc<dyn EventStore>,
    running: Arc<Running>,
    flow: Drive,
    head: Head,
    /// Ready when the deadline passes.
    deadline: Option<BoxFuture<'static, ()>>,
    deadline_passed: bool,
    sending: Option<BoxFuture<'static, Result<Head, StoreError>>>,
    /// Ready when a cancelled flow has had its time.
    grace: Option<BoxFuture<'static, ()>>,
    ending: Option<Ending>,
}

impl Driver {
    pub(crate) fn new(
        execution: Arc<Execution>,
        store: Arc<dyn EventStore>,
        running: Arc<Running>,
        flow: Drive,
        head: Head,
        deadline: Option<BoxFuture<'static, ()>>,
    ) -> Self {
        let (sending, grace, ending) = (None, None, None);
        let deadline_passed = false;
        Self { execution, store, running, flow, head, deadline, deadline_passed, sending, grace, ending }
    }

    pub(crate) fn execution(&self) -> &Arc<Execution> {
        &self.execution
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Runs to the execution's acknowledged end.
    pub(crate) async fn run(mut self) -> Result<Ending, Stop> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Ending, Stop>> {
        self.execution.register_driver(cx.waker());
        self.running.register(cx.waker());
        let mut polls = 0;
        loop {
            self.hear(cx);
            if self.ending.is_none() {
                match self.flow.poll(cx) {
                    FlowPoll::Ready(result) => self.end(result)?,
                    FlowPoll::Again if polls < POLLS_PER_TURN_MAX => {
                        polls += 1;
                        continue;
                    }
                    FlowPoll::Again => {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    FlowPoll::Waits => {
                        if self.advance(cx)? {
                            continue;
                        }
                    }
                }
            }
            match self.send(cx)? {
                // A cancel may be told now, and what was asked may start.
                Sent::Acknowledged => continue,
                Sent::Pending => return Poll::Pending,
                Sent::Nothing => {}
            }
            return match self.ending.take() {
                Some(ending) => Poll::Ready(Ok(ending)),
                None => Poll::Pending,
            };
        }
    }

    /// Queues what came from outside: a cancel, or the deadline. Both last, so each turn may ask again.
    fn hear(&mut self, cx: &mut Context<'_>) {
        if self.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(cx).is_ready()) {
            (self.deadline, self.deadline_passed) = (None, true);
        }
        let asked = match self.running.cancel_reason() {
            Some(_) => Some(CancelKind::Cancel),
            None => self.deadline_passed.then_some(CancelKind::Deadline),
        };
        if let Some(kind) = asked {
            let at_ms = self.execution.clock.now_ms();
            self.execution.engine(|engine| engine.request_cancel(kind, at_ms));
        }
    }

    /// Lets the flow see one result more. Answers whether it has something new.
    fn advance(&mut self, cx: &mut Context<'_>) -> Result<bool, Stop> {
        match self.execution.engine(|engine| engine.advance()) {
            Advance::Resolved(path) => self.execution.wake(&path),
            Advance::Live => self.execution.wake_all(),
            Advance::Cancelled(kind) => {
                tracing::debug!(loom.kind = kind.as_str(), "execution is cancelled");
                self.execution.signal.abort(self.reason(kind));
                self.execution.wake_all();
                self.grace = self.execution.clock.sleep(CANCEL_GRACE);
            }
            Advance::Exhausted => self.end(Err(super::history_full()))?,
            Advance::Mismatch(mismatch) => return Err(Stop::Blocked(mismatch, self.head.fence())),
            Advance::Ended(record) => {
                let mismatch = self.execution.engine(|engine| engine.mismatch(&record));
                return Err(Stop::Blocked(mismatch, self.head.fence()));
            }
            Advance::Idle => {
                let over = self.grace.as_mut().is_some_and(|grace| grace.as_mut().poll(cx).is_ready());
                if over {
                    tracing::warn!("a cancelled flow did not end in time and was dropped");
                    self.end(Err(CallError::aborted(self.execution.cancel_reason())))?;
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn reason(&self, kind: CancelKind) -> AbortReason {
        let own = self.running.cancel_reason().filter(|_| kind == CancelKind::Cancel);
        own.unwrap_or_else(|| Arc::new(ExecutionCancelledError { kind }))
    }

    /// The flow is over: drops it, and queues the end.
    fn end(&mut self, result: Given) -> Result<(), Stop> {
        self.flow.drop_caught();
        let result = match result {
            Ok(output) => fits(&output).map(|_| output),
            Err(error) => Err(failure::recordable(error)),
        };
        let at_ms = self.execution.clock.now_ms();
        let reason = |kind| self.reason(kind);
        let ended = self.execution.engine(|engine| engine.finish(result, reason, at_ms));
        self.ending = Some(ended.map_err(|mismatch| Stop::Blocked(mismatch, self.head.fence()))?);
        Ok(())
    }

    /// Sends what is queued, one append at a time.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<Sent, Stop> {
        let mut acknowledged = false;
        loop {
            if let Some(sending) = &mut self.sending {
                let Poll::Ready(sent) = sending.as_mut().poll(cx) else {
                    return Ok(if acknowledged { Sent::Acknowledged } else { Sent::Pending });
                };
                self.sending = None;
                let head = sent.map_err(Stop::Store)?;
                if self.head.last_seq < HISTORY_WARN_EVENTS && head.last_seq >= HISTORY_WARN_EVENTS {
                    tracing::warn!(loom.events = head.last_seq, "the history is at 80 % of its bound");
                }
                self.execution.engine(|engine| engine.acknowledge(&head));
                self.head = head;
                self.execution.wake_all();
                acknowledged = true;
            }
            let Some(drafts) = self.execution.engine(|engine| engine.take()) else {
                return Ok(if acknowledged { Sent::Acknowledged } else { Sent::Nothing });
            };
            tracing::debug!(loom.records = drafts.len(), loom.after = self.head.last_seq, "append");
            let (store, id) = (Arc::clone(&self.store), self.execution.id.clone());
            let append = Append::new(id, self.head.fence(), drafts);
            self.sending = Some(Box::pin(async move { store.append(append).await }));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.flow.drop_caught();
        self.execution.close();
    }
}

/// What became of what is queued.
enum Sent {
    Nothing,
    /// An append is under way.
    Pending,
    Acknowledged,
}

/// A flow and whether anything woke it: it is polled only then, and waits only when nothing did.
pub(crate) struct Drive {
    flow: Option<FlowFuture>,
    woken: Arc<Woken>,
    waker: Waker,
}

pub(crate) enum FlowPoll {
    Ready(Given),
    /// It was woken while it was polled.
    Again,
    Waits,
}

impl Drive {
    pub(crate) fn new(flow: BoxFuture<'static, Given>) -> Self {
        let woken = Arc::new(Woken { woken: AtomicBool::new(true), parent: AtomicWaker::new() });
        let waker = Waker::from(Arc::clone(&woken));
        Self { flow: Some(InFlow::new(flow)), woken, waker }
    }

    /// Polls the flow if it was woken. A panic in it is its failure.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> FlowPoll {
        self.woken.parent.register(cx.waker());
        let Some(flow) = &mut self.flow else { return FlowPoll::Waits };
        if !self.woken.woken.swap(false, Ordering::AcqRel) {
            return FlowPoll::Waits;
        }
        let mut cx = Context::from_waker(&self.waker);
        match catch_unwind(AssertUnwindSafe(|| Pin::new(flow).poll(&mut cx))) {
            Err(_) => FlowPoll::Ready(Err(panicked())),
            Ok(Poll::Ready(result)) => FlowPoll::Ready(result),
            Ok(Poll::Pending) if self.is_woken() => FlowPoll::Again,
            Ok(Poll::Pending) => FlowPoll::Waits,
        }
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.flow.is_some() && self.woken.woken.load(Ordering::Acquire)
    }

    /// Drops the flow, and with it what it waited for. A panic in a drop is not the process's.
    pub(crate) fn drop_caught(&mut self) {
        let flow = self.flow.take();
        if catch_unwind(AssertUnwindSafe(|| drop(flow))).is_err() {
            tracing::warn!("a flow panicked while it was dropped");
        }
    }
}

struct Woken {
    woken: AtomicBool,
    parent: AtomicWaker,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.parent.wake();
    }
}

#[cold]
fn panicked() -> CallError {
    CallError::named(ErrorName::EffectPanicked, "the flow panicked")
}
