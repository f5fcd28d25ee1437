//! One attempt: execute, inspect, finish the guards, compare the live text.

use std::future::poll_fn;
use std::task::Poll;

use super::Live;
use super::authorized::Authorized;
use super::wait::{Aborted, bounded};
use crate::caught::{Contained, caught};
use crate::data::Output;
use crate::delta::{Channel, LiveHash};
use crate::effect::EffectContext;
use crate::error::{CallError, Refusal};
use crate::hook::Step;
use crate::names::ErrorName;
use crate::runtime::ToolEntry;

/// How far one attempt is. Its room is open from its first step to its end.
pub(super) struct Attempt {
    stage: Stage,
    inspected: usize,
}

/// What the lane is at: where it goes on, and who is to blame for a panic.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Stage {
    Enter,
    Execute,
    Inspect,
    Settle,
}

/// Where the synchronous lane of an attempt stopped.
pub(crate) enum Turn {
    /// At the end, with the room's number.
    Done(u32),
    /// The effect has to be awaited.
    Execute,
    /// The next inspector waits.
    Inspect,
}

impl Attempt {
    pub(super) fn new() -> Self {
        Self { stage: Stage::Enter, inspected: 0 }
    }

    /// Goes on as far as nothing waits.
    pub(super) fn step(
        &mut self,
        live: &Live,
        input: &Authorized<'_>,
        place: &mut Output,
    ) -> Result<Turn, CallError> {
        let turn = caught(|| self.lane(live, live.entry(), input, place));
        turn.unwrap_or_else(|_| Err(self.blame(live)))
    }

    /// Awaits whatever the lane stopped at, to the end of the attempt.
    pub(super) async fn run(
        &mut self,
        mut turn: Turn,
        live: &Live,
        input: &Authorized<'_>,
        place: &mut Output,
    ) -> Result<u32, CallError> {
        loop {
            match turn {
                Turn::Done(room) => return Ok(room),
                Turn::Execute => {
                    let result = execute(live, input, place).await;
                    judge(live, result)?;
                    self.stage = Stage::Inspect;
                }
                Turn::Inspect => {
                    Box::pin(inspect_wait(live, place, self.inspected)).await?;
                    self.inspected += 1;
                }
            }
            turn = self.step(live, input, place)?;
        }
    }

    /// The lane itself: whoever calls it catches panics and asks [`Attempt::blame`].
    #[inline]
    pub(super) fn lane(
        &mut self,
        live: &Live,
        entry: &ToolEntry,
        input: &Authorized<'_>,
        place: &mut Output,
    ) -> Result<Turn, CallError> {
        if self.stage <= Stage::Enter {
            if let Some(reason) = live.call.abort_reason() {
                return Err(CallError::aborted(reason));
            }
            let room = live.enter()?;
            live.count_execution();
            if room > 1 {
                place.clear();
            }
            self.stage = Stage::Execute;
            match entry.effect.ready(input, &EffectContext { live, room }, place) {
                None => return Ok(Turn::Execute),
                Some(result) => judge(live, result)?,
            }
            self.stage = Stage::Inspect;
        }
        if self.stage <= Stage::Inspect {
            for inspector in live.runtime().inspectors.iter().skip(self.inspected) {
                match inspector.inspect(&live.call, place) {
                    Step::Go => self.inspected += 1,
                    Step::Wait => return Ok(Turn::Inspect),
                    Step::Deny(refusal) => return Err(refusal.into()),
                }
            }
            self.stage = Stage::Settle;
        }
        let room = live.room();
        if let Some(channel) = live.existing_channel() {
            settle(live, channel, room, place)?;
        }
        // An abort by an inspector, or by a sink that so has not seen all of the held tails.
        if let Some(reason) = live.call.abort_reason() {
            return Err(CallError::aborted(reason));
        }
        live.leave();
        Ok(Turn::Done(room))
    }

    /// The failure of whoever panicked.
    #[cold]
    pub(super) fn blame(&self, live: &Live) -> CallError {
        match self.stage {
            Stage::Inspect => inspect_panicked(live, self.inspected).into(),
            // A sever or an abort stands whatever the effect does about it.
            Stage::Enter | Stage::Execute | Stage::Settle => match judge(live, Err(panicked())) {
                Err(error) => error,
                Ok(()) => panicked(),
            },
        }
    }
}

/// The channel's verdict comes first, then the signal's, whatever the effect made of them (spec rows D8, D15).
#[inline]
fn judge(live: &Live, result: Result<(), CallError>) -> Result<(), CallError> {
    if let Some(violation) = live.severed() {
        return Err(violation.into());
    }
    if let Some(reason) = live.call.abort_reason() {
        return Err(CallError::aborted(reason));
    }
    result
}

/// Flushes the guards and compares what a sink saw with the output's own live text (spec rows D11, D19).
fn settle(live: &Live, channel: &Channel, room: u32, place: &Output) -> Result<(), CallError> {
    let facts = channel.finish(room).map_err(|violation| match violation {
        Some(violation) => CallError::from(violation),
        None => CallError::named(ErrorName::EffectFailed, "the channel was closed from inside a sink"),
    })?;
    let mut checked = false;
    if let Some(seen) = facts.live {
        let mut stated = LiveHash::new();
        checked = live.entry().effect.live_text(place, &mut |piece| stated.update(piece));
        if checked && stated.finish() != seen {
            return Err(CallError::named(
                ErrorName::OutputInvalid,
                "the live text differs from the output's",
            ));
        }
    }
    live.settle_stream(facts, checked);
    Ok(())
}

/// Polls the effect; drops it on a sever, an abort or a panic.
async fn execute(live: &Live, input: &Authorized<'_>, place: &mut Output) -> Result<(), CallError> {
    let cx = EffectContext { live, room: live.room() };
    let (cx, effect) = (&cx, &live.entry().effect);
    let Ok(execution) = caught(|| effect.execute(input, cx, place)) else { return Err(panicked()) };
    let mut execution = Contained::new(execution);
    let mut aborted = Aborted::new(&live.call);
    poll_fn(|cx| {
        let Some(running) = execution.get_mut() else { return Poll::Ready(Err(panicked())) };
        match caught(|| running.as_mut().poll(cx)) {
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

async fn inspect_wait(live: &Live, place: &mut Output, at: usize) -> Result<(), CallError> {
    let runtime = live.runtime();
    let Some(inspector) = runtime.inspectors.get(at) else { return Ok(()) };
    let late = || Refusal::safety(format!("{}.deadline", runtime.names.inspector(at)));
    let panicked = || inspect_panicked(live, at);
    bounded(&live.call, || (inspector.inspect_wait(&live.call, place), inspector.deadline()), late, panicked)
        .await
}

#[cold]
fn inspect_panicked(live: &Live, at: usize) -> Refusal {
    Refusal::safety(format!("{}.panicked", live.runtime().names.inspector(at)))
}

#[cold]
fn panicked() -> CallError {
    CallError::named(ErrorName::EffectPanicked, "the effect panicked")
}
