//! One attempt: execute, inspect, finish the guards, compare the live text.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;

use super::Live;
use super::authorized::Authorized;
use super::live::Room;
use super::wait::{Aborted, bounded};
use crate::caught::caught;
use crate::data::Output;
use crate::delta::{LiveHash, StreamFacts};
use crate::effect::EffectContext;
use crate::error::{CallError, Refusal};
use crate::hook::Step;
use crate::names::ErrorName;

/// One attempt on its way. Its room is open from its first step to its end.
pub(super) struct Attempt<'l, 'a> {
    live: &'l Live<'a>,
    stage: Stage,
    inspected: usize,
    room: Option<Room<'l, 'a>>,
}

#[derive(Clone, Copy)]
enum Stage {
    Enter,
    Execute,
    Inspect,
}

/// Where the synchronous lane of an attempt stopped.
pub(crate) enum Turn {
    /// At the end, with the room's number.
    Done(Result<u32, CallError>),
    /// The effect has to be awaited.
    Execute,
    /// The next inspector waits.
    Inspect,
}

impl<'l, 'a> Attempt<'l, 'a> {
    pub(super) fn new(live: &'l Live<'a>) -> Self {
        Self { live, stage: Stage::Enter, inspected: 0, room: None }
    }

    /// Goes on as far as nothing waits. The room is over when this answers `Done`.
    #[inline]
    pub(super) fn step(&mut self, input: &Authorized<'_>, place: &mut Output) -> Turn {
        let turn = self.lane(input, place).unwrap_or_else(|error| Turn::Done(Err(error)));
        if matches!(turn, Turn::Done(_)) {
            self.room = None;
        }
        turn
    }

    /// Awaits whatever the lane stopped at, to the end of the attempt.
    pub(super) async fn run(
        &mut self,
        mut turn: Turn,
        input: &Authorized<'_>,
        place: &mut Output,
    ) -> Result<u32, CallError> {
        loop {
            let waited = match turn {
                Turn::Done(result) => return result,
                Turn::Execute => {
                    let result = self.execute(input, place).await;
                    self.judge(result)
                }
                Turn::Inspect => {
                    let waited = Box::pin(inspect_wait(self.live, place, self.inspected)).await;
                    self.inspected += 1;
                    waited
                }
            };
            if let Err(error) = waited {
                self.room = None;
                return Err(error);
            }
            self.stage = Stage::Inspect;
            turn = self.step(input, place);
        }
    }

    #[inline]
    fn lane(&mut self, input: &Authorized<'_>, place: &mut Output) -> Result<Turn, CallError> {
        if matches!(self.stage, Stage::Enter) {
            if let Some(reason) = self.live.call.signal().reason() {
                return Err(CallError::aborted(reason));
            }
            let room = self.live.enter();
            self.live.count_execution();
            if room.number > 1 {
                place.clear();
            }
            let cx = EffectContext { live: self.live, room: room.number };
            self.room = Some(room);
            self.stage = Stage::Execute;
            match caught(|| self.live.entry().effect.ready(input, &cx, place)) {
                Ok(None) => return Ok(Turn::Execute),
                Ok(Some(result)) => self.judge(result)?,
                Err(_) => self.judge(Err(panicked()))?,
            }
            self.stage = Stage::Inspect;
        }
        if self.inspected < self.live.runtime().inspectors.len()
            && !inspect(self.live, place, &mut self.inspected)?
        {
            return Ok(Turn::Inspect);
        }
        let Some(room) = &self.room else { return Err(panicked()) };
        if let Some(channel) = self.live.existing_channel() {
            let facts = channel.finish(room.number).map_err(|violation| match violation {
                Some(violation) => CallError::from(violation),
                None => {
                    CallError::named(ErrorName::EffectFailed, "the channel was closed from inside a sink")
                }
            })?;
            // A sink that aborts while held tails flow out has not seen all of them.
            if let Some(reason) = self.live.call.signal().reason() {
                return Err(CallError::aborted(reason));
            }
            let checked = compare(self.live, facts, place)?;
            self.live.settle_stream(facts, checked);
        }
        Ok(Turn::Done(Ok(room.number)))
    }

    /// The channel's verdict comes first, then the signal's, whatever the effect made of them (spec rows D8, D15).
    #[inline]
    fn judge(&self, result: Result<(), CallError>) -> Result<(), CallError> {
        if let Some(violation) = self.live.severed() {
            return Err(violation.into());
        }
        if let Some(reason) = self.live.call.signal().reason() {
            return Err(CallError::aborted(reason));
        }
        result
    }

    /// Polls the effect; drops it on a sever, an abort or a panic.
    async fn execute(&self, input: &Authorized<'_>, place: &mut Output) -> Result<(), CallError> {
        let live = self.live;
        let Some(room) = &self.room else { return Err(panicked()) };
        let cx = EffectContext { live, room: room.number };
        let (cx, effect) = (&cx, &live.entry().effect);
        let Ok(execution) = caught(|| effect.execute(input, cx, place)) else { return Err(panicked()) };
        let mut execution = Execution(Some(execution));
        let mut aborted = Aborted::new(live.call);
        poll_fn(|cx| {
            match caught(|| execution.poll(cx)) {
                Err(_) => return Poll::Ready(Err(panicked())),
                Ok(Poll::Ready(result)) => return Poll::Ready(result),
                Ok(Poll::Pending) => {}
            }
            if let Some(channel) = live.existing_channel() {
                // Registered before it is read again: a sever in between wakes this task.
                channel.register(cx.waker());
                if let Some(violation) = channel.severed() {
                    return Poll::Ready(Err(violation.into()));
                }
            }
            aborted.poll(cx).map(|reason| Err(CallError::aborted(reason)))
        })
        .await
    }
}

/// An effect's future, whose drop cannot hurt the call either.
struct Execution<'e>(Option<BoxFuture<'e, Result<(), CallError>>>);

impl Execution<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        match &mut self.0 {
            Some(execution) => Pin::new(execution).poll(cx),
            None => Poll::Ready(Err(panicked())),
        }
    }
}

impl Drop for Execution<'_> {
    fn drop(&mut self) {
        let execution = self.0.take();
        let _ = caught(|| drop(execution));
    }
}

/// Runs inspectors from `at` on. False where one waits.
#[inline]
fn inspect(live: &Live<'_>, place: &mut Output, at: &mut usize) -> Result<bool, CallError> {
    let step = caught(|| {
        for inspector in live.runtime().inspectors.iter().skip(*at) {
            match inspector.inspect(live.call, place) {
                Step::Go => *at += 1,
                step => return step,
            }
        }
        Step::Go
    });
    match step {
        Ok(Step::Go) => Ok(true),
        Ok(Step::Wait) => Ok(false),
        Ok(Step::Deny(refusal)) => Err(refusal.into()),
        Err(_) => Err(inspect_panicked(live, *at).into()),
    }
}

async fn inspect_wait(live: &Live<'_>, place: &mut Output, at: usize) -> Result<(), CallError> {
    let runtime = live.runtime();
    let Some(inspector) = runtime.inspectors.get(at) else { return Ok(()) };
    let late = || Refusal::safety(format!("{}.deadline", runtime.names.inspector(at)));
    let panicked = || inspect_panicked(live, at);
    bounded(live.call, || (inspector.inspect_wait(live.call, place), inspector.deadline()), late, panicked)
        .await
}

/// Compares what a sink saw with the output's own live text (spec row D11).
fn compare(live: &Live<'_>, facts: StreamFacts, place: &Output) -> Result<bool, CallError> {
    let Some(seen) = facts.live else { return Ok(false) };
    let mut stated = LiveHash::new();
    let effect = &live.entry().effect;
    match caught(|| effect.live_text(place, &mut |piece| stated.update(piece))) {
        Err(_) => Err(panicked()),
        Ok(false) => Ok(false),
        Ok(true) if stated.finish() == seen => Ok(true),
        Ok(true) => {
            Err(CallError::named(ErrorName::OutputInvalid, "the live text differs from the output's"))
        }
    }
}

#[cold]
fn inspect_panicked(live: &Live<'_>, at: usize) -> Refusal {
    Refusal::safety(format!("{}.panicked", live.runtime().names.inspector(at)))
}

#[cold]
fn panicked() -> CallError {
    CallError::named(ErrorName::EffectPanicked, "the effect panicked")
}
