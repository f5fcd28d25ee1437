//! The rooms of a call that has arounds: attempts and kept outputs, one after the other.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::task::Poll;

use super::Live;
use super::attempt::{self, Attempt};
use super::authorized::Authorized;
use super::wait::Aborted;
use crate::call::Call;
use crate::caught::{Contained, caught};
use crate::data::{Input, Output};
use crate::error::{CallError, Refusal};
use crate::hook::{Around, Begun, Kept, KeptInner, Next, Rooms};
use crate::names::ErrorName;
use crate::warning::Warning;

/// Runs the arounds, outermost first, and accepts only the proof of the last room. An abort ends them wherever they
/// wait; a sever or refusal stands whatever they make of it.
pub(super) async fn around(live: &Live, input: &Authorized<'_>, place: &mut Output) -> Result<(), CallError> {
    let set = RoomSet {
        live,
        input,
        place: Mutex::new(Some(place)),
        good: AtomicU32::new(NONE),
        latched: OnceLock::new(),
    };
    let given = outermost(&set).await;
    if let Some(latched) = set.latched() {
        return Err(latched);
    }
    let last = set.good();
    match given {
        Ok(room) if last == Some(room) => Ok(()),
        Ok(_) => {
            Err(CallError::named(ErrorName::OutputInvalid, "an `around` gave the proof of an older room"))
        }
        Err(error) => {
            if last.is_some() && error.name() != ErrorName::DeadlineExceeded && !error.is_refusal() {
                live.runtime().warn(&Warning::SuccessDropped { tool: live.call.tool() });
            }
            Err(error)
        }
    }
}

async fn outermost(set: &RoomSet<'_, '_>) -> Result<u32, CallError> {
    let mut next = Next::first(set);
    let next = &mut next;
    let mut running = Contained::new(caught(|| next.run()).map_err(|_| around_panicked())?);
    let mut aborted = Aborted::new(&set.live.call);
    poll_fn(|cx| {
        let Some(running) = running.get_mut() else { return Poll::Ready(Err(around_panicked())) };
        match caught(|| running.as_mut().poll(cx)) {
            Err(_) => return Poll::Ready(Err(around_panicked())),
            Ok(Poll::Ready(given)) => return Poll::Ready(given.map(|proof| proof.room())),
            Ok(Poll::Pending) => {}
        }
        aborted.poll(cx).map(|reason| Err(CallError::aborted(reason)))
    })
    .await
}

struct RoomSet<'s, 'i> {
    live: &'s Live,
    input: &'s Authorized<'i>,
    /// Taken by the room that runs, and put back however it ends.
    place: Mutex<Option<&'s mut Output>>,
    /// The last room, if it ended well and none was opened since; [`NONE`] otherwise. Rooms of one call follow one
    /// another, so that nothing is decided on two of them at once.
    good: AtomicU32,
    /// A sever or refusal: nothing runs after it, so there is never a second one.
    latched: OnceLock<CallError>,
}

/// No room: they count from 1.
const NONE: u32 = 0;

impl<'s> RoomSet<'s, '_> {
    fn good(&self) -> Option<u32> {
        Some(self.good.load(Ordering::Acquire)).filter(|room| *room != NONE)
    }

    fn set_good(&self, room: u32) {
        self.good.store(room, Ordering::Release);
    }

    /// The sever or refusal that ended the call; the channel may know of one that no attempt lived to tell.
    fn latched(&self) -> Option<CallError> {
        self.latched.get().cloned().or_else(|| self.live.severed().map(CallError::from))
    }

    /// The place, for as long as nothing waits. Rooms do not overlap: who finds it taken is refused, and never waits.
    fn place(&self) -> Result<MutexGuard<'_, Option<&'s mut Output>>, CallError> {
        match self.place.try_lock() {
            Ok(place) => Ok(place),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(overlap()),
        }
    }

    /// What is ready at once needs the place for no longer than its step, and no future of its own.
    fn begin(&self) -> Result<Begun<'_>, CallError> {
        self.may_run()?;
        self.set_good(NONE);
        let room = Leaves(self.live);
        let mut attempt = Attempt::new();
        let turn = {
            let mut place = self.place()?;
            attempt.step(self.live, self.input, place.as_deref_mut().ok_or_else(overlap)?)?
        };
        let attempt::Turn::Done(number) = turn else {
            return Ok(Begun::Waits(Box::pin(self.wait(attempt, turn, Lent::take(self)?, room))));
        };
        drop(room);
        self.set_good(number);
        Ok(Begun::Ready(number))
    }

    async fn wait(
        &self,
        mut attempt: Attempt,
        turn: attempt::Turn,
        mut lent: Lent<'_, '_, '_>,
        room: Leaves<'_>,
    ) -> Result<u32, CallError> {
        let result = attempt.run(turn, self.live, self.input, lent.place()?).await;
        drop((room, lent));
        result.inspect(|number| self.set_good(*number))
    }
}

impl Rooms for RoomSet<'_, '_> {
    fn may_run(&self) -> Result<(), CallError> {
        if let Some(latched) = self.latched() {
            return Err(latched);
        }
        if !self.live.entry().repeatable && self.live.ever_delivered() {
            return Err(CallError::named(
                ErrorName::NotRepeatable,
                "a delta of the effect was delivered and it is not repeatable",
            ));
        }
        Ok(())
    }

    fn call(&self) -> &Call {
        &self.live.call
    }

    fn input(&self) -> &Input {
        self.input
    }

    fn arounds(&self) -> &[Box<dyn Around>] {
        &self.live.runtime().arounds
    }

    fn latch(&self, refusal: &CallError) {
        self.latched.get_or_init(|| refusal.clone());
    }

    fn attempt(&self) -> Result<Begun<'_>, CallError> {
        self.begin()
    }

    fn keep(&self, room: u32) -> Option<Kept> {
        if self.good() != Some(room) {
            return None;
        }
        let place = self.place().ok()?;
        let output = caught(|| place.as_deref()?.keep()).ok()??;
        let output = Contained::new(output);
        Some(Kept(Arc::new(KeptInner { owner: self.live.call.memo_identity(), output })))
    }

    fn serve(&self, kept: &Kept) -> Result<u32, CallError> {
        if let Some(latched) = self.latched() {
            return Err(latched);
        }
        if let Some(reason) = self.live.call.signal().reason() {
            return Err(CallError::aborted(reason));
        }
        if !self.live.call.owns(&kept.0.owner) {
            let chain = self.live.call.identity().principal().chain();
            return Err(Refusal::new(ErrorName::CapabilityDenied, "kept.identity").chain(chain).into());
        }
        let mut place = self.place()?;
        let place = place.as_deref_mut().ok_or_else(overlap)?;
        self.set_good(NONE);
        let room = self.live.enter()?;
        let _room = Leaves(self.live);
        let output = kept.0.output.get();
        if !caught(|| output.is_some_and(|output| place.restore(&**output))).unwrap_or(false) {
            return Err(CallError::named(ErrorName::OutputInvalid, "the kept output cannot be served"));
        }
        self.set_good(room);
        Ok(room)
    }
}

/// Ends a room however its attempt ends: also by a timeout that drops it.
struct Leaves<'l>(&'l Live);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The place, lent to one room that waits.
struct Lent<'r, 's, 'i> {
    set: &'r RoomSet<'s, 'i>,
    place: Option<&'s mut Output>,
}

impl<'r, 's, 'i> Lent<'r, 's, 'i> {
    fn take(set: &'r RoomSet<'s, 'i>) -> Result<Self, CallError> {
        let place = set.place()?.take();
        Ok(Self { set, place: Some(place.ok_or_else(overlap)?) })
    }

    fn place(&mut self) -> Result<&mut Output, CallError> {
        self.place.as_deref_mut().ok_or_else(overlap)
    }
}

impl Drop for Lent<'_, '_, '_> {
    fn drop(&mut self) {
        if let Ok(mut place) = self.set.place() {
            *place = self.place.take();
        }
    }
}

/// Cannot happen while `Next::run` borrows `next`; refused rather than assumed.
#[cold]
fn overlap() -> CallError {
    CallError::named(ErrorName::OutputInvalid, "two rooms of one call overlap")
}

#[cold]
fn around_panicked() -> CallError {
    Refusal::safety("around.panicked").into()
}
