//! One attempt: execute, inspect, finish the guards, compare the live text.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures::future::BoxFuture;

use super::wait::bounded;
use super::{Authorized, Live};
use crate::caught::caught;
use crate::data::Output;
use crate::delta::{LiveHash, StreamFacts};
use crate::effect::EffectContext;
use crate::error::{CallError, Refusal};
use crate::hook::Step;
use crate::names::ErrorName;

/// Runs one attempt in a room of its own and gives the room's number.
pub(super) async fn attempt(
    live: &Live<'_>,
    input: &Authorized<'_>,
    place: &mut Output,
) -> Result<u32, CallError> {
    if let Some(reason) = live.call.signal().reason() {
        return Err(CallError::aborted(reason));
    }
    let room = live.enter();
    live.count_execution();
    if room.number > 1 {
        place.clear();
    }
    let cx = EffectContext { live, room: room.number };
    let effect = &live.entry().effect;
    let ready = caught(|| effect.ready(input, &cx, place));
    let result = match ready {
        Ok(Some(result)) => result,
        Ok(None) => {
            let (cx, place) = (&cx, &mut *place);
            let execution = caught(move || effect.execute(input, cx, place));
            match execution {
                Ok(execution) => drive(live, execution).await,
                Err(_) => Err(panicked()),
            }
        }
        Err(_) => Err(panicked()),
    };
    // The channel's verdict comes first, whatever the effect made of it (spec row D15).
    if let Some(violation) = live.severed() {
        return Err(violation.into());
    }
    if let Some(reason) = live.call.signal().reason() {
        return Err(CallError::aborted(reason));
    }
    result?;
    if !live.runtime().inspectors.is_empty() {
        inspect(live, place).await?;
    }
    settle(live, room.number, place)?;
    Ok(room.number)
}

/// Polls an execution; drops it on a sever, an abort or a panic.
async fn drive(
    live: &Live<'_>,
    mut execution: BoxFuture<'_, Result<(), CallError>>,
) -> Result<(), CallError> {
    let mut aborted = pin!(live.call.signal().aborted());
    poll_fn(|cx| {
        match caught(|| execution.as_mut().poll(cx)) {
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
        aborted.as_mut().poll(cx).map(|reason| Err(CallError::aborted(reason)))
    })
    .await
}

/// Lets every inspector at the output, in order.
async fn inspect(live: &Live<'_>, place: &mut Output) -> Result<(), CallError> {
    let runtime = live.runtime();
    let mut at = 0;
    loop {
        let panicked = |at: usize| Refusal::safety(format!("{}.panicked", runtime.names.inspector(at)));
        let lane = caught(|| inspect_lane(live, place, &mut at));
        match lane.map_err(|_| panicked(at))? {
            Step::Go => return Ok(()),
            Step::Deny(refusal) => return Err(refusal.into()),
            Step::Wait => {
                let Some(inspector) = runtime.inspectors.get(at) else { return Ok(()) };
                let late = || Refusal::safety(format!("{}.deadline", runtime.names.inspector(at)));
                let place = &mut *place;
                bounded(
                    live.call,
                    || (inspector.inspect_wait(live.call, place), inspector.deadline()),
                    late,
                    || panicked(at),
                )
                .await?;
                at += 1;
            }
        }
    }
}

#[inline]
fn inspect_lane(live: &Live<'_>, place: &mut Output, at: &mut usize) -> Step {
    for inspector in live.runtime().inspectors.iter().skip(*at) {
        match inspector.inspect(live.call, place) {
            Step::Go => *at += 1,
            step => return step,
        }
    }
    Step::Go
}

/// Flushes the guards and compares what a sink saw with the output (spec rows D11, D19).
#[inline]
fn settle(live: &Live<'_>, room: u32, place: &Output) -> Result<(), CallError> {
    match live.existing_channel() {
        None => Ok(()),
        Some(channel) => {
            let facts = channel.finish(room).map_err(|violation| match violation {
                Some(violation) => CallError::from(violation),
                None => {
                    CallError::named(ErrorName::EffectFailed, "the channel was closed from inside a sink")
                }
            })?;
            let checked = compare(live, facts, place)?;
            live.settle_stream(facts, checked);
            Ok(())
        }
    }
}

fn compare(live: &Live<'_>, facts: StreamFacts, place: &Output) -> Result<bool, CallError> {
    let Some(seen) = facts.live else { return Ok(false) };
    let mut stated = LiveHash::new();
    let states = caught(|| live.entry().effect.live_text(place, &mut |piece| stated.update(piece)));
    match states {
        Err(_) => Err(panicked()),
        Ok(false) => Ok(false),
        Ok(true) if stated.finish() == seen => Ok(true),
        Ok(true) => {
            Err(CallError::named(ErrorName::OutputInvalid, "the live text differs from the output's"))
        }
    }
}

#[cold]
fn panicked() -> CallError {
    CallError::named(ErrorName::EffectPanicked, "the effect panicked")
}
