//! The rooms of a call that has arounds: attempts and kept outputs, one after the other.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::attempt::attempt;
use super::{Authorized, Live};
use crate::call::Call;
use crate::caught::caught;
use crate::data::{Input, Output};
use crate::error::CallError;
use crate::hook::{Around, Kept, KeptInner, Next, Rooms};
use crate::names::ErrorName;
use crate::warning::Warning;

/// Runs the arounds, outermost first, and accepts only the proof of the last room.
pub(super) async fn around(
    live: &Live<'_>,
    input: &Authorized<'_>,
    place: &mut Output,
) -> Result<(), CallError> {
    let set = RoomSet { live, input, place: Mutex::new(Some(place)), state: Mutex::default() };
    let given = {
        let mut next = Next::first(&set);
        let next = &mut next;
        let asked = caught(move || next.run());
        let running = AssertUnwindSafe(asked.map_err(|_| around_panicked())?);
        running.catch_unwind().await.map_err(|_| around_panicked())?.map(|proof| proof.room())
    };
    let last = set.state().good;
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

struct RoomSet<'s, 'l, 'i> {
    live: &'s Live<'l>,
    input: &'s Authorized<'i>,
    /// Taken by the attempt that runs, and put back however it ends.
    place: Mutex<Option<&'s mut Output>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last room, if it ended well and none was opened since.
    good: Option<u32>,
    /// A sever or refusal: nothing runs after it.
    latched: Option<CallError>,
}

impl RoomSet<'_, '_, '_> {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Result<(), CallError> {
        let mut state = self.state();
        if let Some(error) = &state.latched {
            return Err(error.clone());
        }
        state.good = None;
        Ok(())
    }

    async fn run(&self) -> Result<u32, CallError> {
        self.begin()?;
        if !self.live.entry().repeatable && self.live.ever_delivered() {
            return Err(CallError::named(
                ErrorName::NotRepeatable,
                "a delta of the effect was delivered and it is not repeatable",
            ));
        }
        let mut lent = Lent::take(self).ok_or_else(busy)?;
        let result = match &mut lent.place {
            Some(place) => attempt(self.live, self.input, place).await,
            None => Err(busy()),
        };
        let mut state = self.state();
        match &result {
            Ok(room) => state.good = Some(*room),
            Err(error) if error.is_refusal() => state.latched = Some(error.clone()),
            Err(_) => {}
        }
        result
    }
}

impl Rooms for RoomSet<'_, '_, '_> {
    fn call(&self) -> &Call {
        self.live.call
    }

    fn input(&self) -> &Input {
        self.input
    }

    fn arounds(&self) -> &[Arc<dyn Around>] {
        &self.live.runtime().arounds
    }

    fn attempt(&self) -> BoxFuture<'_, Result<u32, CallError>> {
        Box::pin(self.run())
    }

    fn keep(&self, room: u32) -> Option<Kept> {
        if self.state().good != Some(room) {
            return None;
        }
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let output = place.as_deref()?.keep()?;
        Some(Kept(Arc::new(KeptInner { owner: self.live.call.memo_identity(), output })))
    }

    fn serve(&self, kept: &Kept) -> Result<u32, CallError> {
        self.begin()?;
        if kept.0.owner != self.live.call.memo_identity() {
            return Err(CallError::from(
                crate::Refusal::new(ErrorName::CapabilityDenied, "kept.identity")
                    .chain(self.live.call.identity().principal().chain()),
            ));
        }
        let mut lent = Lent::take(self).ok_or_else(busy)?;
        let room = self.live.enter();
        let served = lent.place.as_mut().is_some_and(|place| place.restore(&*kept.0.output));
        if !served {
            return Err(busy());
        }
        self.state().good = Some(room.number);
        Ok(room.number)
    }
}

/// The place, lent to one room.
struct Lent<'r, 's, 'l, 'i> {
    set: &'r RoomSet<'s, 'l, 'i>,
    place: Option<&'s mut Output>,
}

impl<'r, 's, 'l, 'i> Lent<'r, 's, 'l, 'i> {
    fn take(set: &'r RoomSet<'s, 'l, 'i>) -> Option<Self> {
        let place = set.place.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Self { set, place: Some(place) })
    }
}

impl Drop for Lent<'_, '_, '_, '_> {
    fn drop(&mut self) {
        *self.set.place.lock().unwrap_or_else(PoisonError::into_inner) = self.place.take();
    }
}

/// Cannot happen while `Next::run` borrows `next`; refused rather than assumed.
#[cold]
fn busy() -> CallError {
    CallError::named(ErrorName::OutputInvalid, "two rooms of one call overlap")
}

#[cold]
fn around_panicked() -> CallError {
    CallError::from(crate::Refusal::safety("around.panicked"))
}
