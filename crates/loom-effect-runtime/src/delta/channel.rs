//! The guarded channel of one call: latch → meters → guards → per-call sink → configured sink.

use std::sync::Arc;
use std::task::Waker;

use futures::task::AtomicWaker;
use loom_classify::Origins;

use super::gate::{Gate, Refused};
use super::guard::MeterForm;
use super::stream::{Stream, StreamFacts};
use super::{Lane, Usage};
use crate::call::Call;
use crate::error::{AbortReason, Violation};
use crate::signal::Signals;

/// A handle that an effect writes its deltas with. It belongs to one attempt: once the attempt is over, whatever
/// it writes goes nowhere (spec rows D15, D16). Cheap to clone; a pump on another task may hold one.
#[derive(Clone)]
pub struct Deltas {
    channel: Arc<Channel>,
    room: u32,
}

/// Why a delta was not taken. An effect that sees one stops reading upstream and returns; whatever it returns, the
/// call's verdict is the channel's.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stopped {
    /// The attempt is over.
    #[error("the attempt is over")]
    Closed,
    /// A sink wrote back into its own channel.
    #[error("a sink wrote into its own channel")]
    Busy,
    /// A guard or meter severed the stream.
    #[error("the stream was severed")]
    Severed(#[source] Violation),
    /// The call's signal was raised.
    #[error("the call was aborted")]
    Aborted(AbortReason),
}

impl From<Stopped> for crate::CallError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Severed(violation) => violation.into(),
            Stopped::Aborted(reason) => Self::aborted(reason),
            Stopped::Closed | Stopped::Busy => {
                Self::named(crate::ErrorName::EffectFailed, "the channel is closed")
            }
        }
    }
}

impl Deltas {
    /// Writes a piece of the answer's text. Empty text is nothing.
    ///
    /// # Errors
    /// [`Stopped`]; return it with `?`.
    #[inline]
    pub fn text(&self, text: &str) -> Result<(), Stopped> {
        self.write(Lane::TEXT, text)
    }

    /// Writes a piece of the text of `lane`.
    ///
    /// # Errors
    /// [`Stopped`]; return it with `?`.
    pub fn write(&self, lane: Lane, text: &str) -> Result<(), Stopped> {
        self.channel.write(self.room, lane, text)
    }

    /// The stream ended well, with the provider's usage if it said. The mark is held: the runtime sends `done`
    /// itself, once the call has succeeded (spec row D6).
    pub fn end(&self, usage: Option<Usage>) {
        self.channel.end(self.room, usage);
    }
}

impl std::fmt::Debug for Deltas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deltas").field("attempt", &self.room).finish_non_exhaustive()
    }
}

/// One channel for all attempts of one call.
pub(crate) struct Channel {
    gate: Gate<Stream, Violation>,
    waker: AtomicWaker,
    signals: Signals,
}

impl Channel {
    /// Makes the channel of a call, open for attempt `room`.
    pub(crate) fn open(call: &Call, origins: Origins, room: u32) -> Self {
        let mut stream = Stream::of(call, origins, room);
        let metered = stream.make_meters(meter_of(call));
        let channel = Self {
            gate: Gate::open_at(room, stream),
            waker: AtomicWaker::new(),
            signals: call.signal().clone(),
        };
        channel.sever_unless(room, metered);
        channel
    }

    pub(crate) fn handle(self: &Arc<Self>, room: u32) -> Deltas {
        Deltas { channel: Arc::clone(self), room }
    }

    /// Begins the next attempt: fresh guards and meters, and an eager reset to every sink (spec row D11). False where
    /// the thread is inside a delivery of this very channel.
    pub(crate) fn begin(&self, call: &Call, room: u32) -> bool {
        let mut metered = Ok(());
        let begun = self.gate.open(room, |stream, cut| {
            stream.begin(room, cut, &self.signals);
            metered = stream.make_meters(meter_of(call));
        });
        self.sever_unless(room, metered);
        begun
    }

    /// The violation that severed the room, if one did. From inside a delivery nobody can tell, so it counts as one.
    pub(crate) fn severed(&self) -> Option<Violation> {
        match self.gate.with(|_, severed| severed.cloned()) {
            Some(severed) => severed,
            None => Some(Violation::safety("channel.busy")),
        }
    }

    /// Where the room sleeps while its effect is pending: a sever wakes it.
    pub(crate) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// Finishes the guards of every open lane. `Err(None)` where the room was closed from inside.
    pub(crate) fn finish(&self, room: u32) -> Result<StreamFacts, Option<Violation>> {
        self.gate.finish(room, |stream, cut| stream.finish(cut, &self.signals)).map_err(|refused| {
            match refused {
                Refused::Severed(violation) => Some(violation),
                Refused::Closed | Refused::Busy => None,
            }
        })
    }

    /// Ends the room: nothing is delivered after this returns.
    pub(crate) fn close(&self, room: u32) {
        self.gate.close(room);
    }

    /// What the provider reported in this attempt.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.gate.with(|stream, _| stream.usage()).flatten()
    }

    /// Whether text of any attempt reached a sink.
    pub(crate) fn ever_delivered(&self) -> bool {
        self.gate.with(|stream, _| stream.ever_delivered()).unwrap_or(true)
    }

    /// The call is over: `done` to the per-call sink alone, unless the call was aborted, and nothing is kept.
    pub(crate) fn settle(&self, done: bool, usage: Option<Usage>) {
        let kept = self.gate.with(|stream, _| {
            if done && !self.signals.is_aborted() {
                stream.done(usage);
            }
            stream.let_go()
        });
        drop(kept);
    }

    #[inline]
    fn write(&self, room: u32, lane: Lane, text: &str) -> Result<(), Stopped> {
        if text.is_empty() {
            return Ok(());
        }
        let written = self.gate.write(room, |stream, cut| {
            if self.signals.is_aborted() {
                return Ok(false);
            }
            stream.take(lane, cut, &self.signals, text)?;
            Ok(true)
        });
        match written {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.signals.reason().map_or(Stopped::Closed, Stopped::Aborted)),
            Err(Refused::Closed) => Err(Stopped::Closed),
            Err(Refused::Busy) => Err(Stopped::Busy),
            Err(Refused::Severed(violation)) => {
                self.waker.wake();
                Err(Stopped::Severed(violation))
            }
        }
    }

    fn end(&self, room: u32, usage: Option<Usage>) {
        let _ = self.gate.write(room, |stream, _| {
            stream.end(usage);
            Ok(())
        });
    }

    fn sever_unless(&self, room: u32, made: Result<(), Violation>) {
        if let Err(violation) = made {
            let _ = self.gate.write(room, |_, _| Err::<(), _>(violation));
        }
    }
}

fn meter_of(call: &Call) -> Option<&dyn MeterForm> {
    call.options()?.meter.as_deref()
}
