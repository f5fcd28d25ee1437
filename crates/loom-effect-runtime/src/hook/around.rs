//! Middleware around the attempts of a call: retry, timeout, memo.

use std::any::Any;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;

use crate::call::{Call, MemoIdentity};
use crate::caught::Contained;
use crate::data::Input;
use crate::error::CallError;
use crate::names::ErrorName;

/// Runs around the attempts of a call. It is handed proofs, not outputs: it may run again, serve what it kept, or
/// give an error, but it can neither read nor forge a result.
///
/// # Contract
/// - Return the proof of the last room; an older one fails the call.
/// - Attempts never overlap: [`Next::run`] borrows `next`.
/// - A success becomes an error only by timeout, cancellation or a new attempt.
/// - Registered order is outermost first.
///
/// # Panics
/// A panic fails the call.
pub trait Around: Send + Sync + 'static {
    /// A stable name, for reports.
    fn name(&self) -> &str;

    /// Runs the attempts.
    ///
    /// # Cancel safety
    /// The future may be dropped at any await; the attempt in it ends with it.
    fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>>;
}

/// Makes the brand invariant: a proof of one call is no proof of another.
type Brand<'a> = PhantomData<fn(&'a ()) -> &'a ()>;

/// The proof that a room of this very call ended well: unreadable, unforgeable, not to be cloned or kept.
#[must_use]
pub struct Opaque<'a> {
    room: u32,
    brand: Brand<'a>,
}

impl Opaque<'_> {
    pub(crate) fn room(&self) -> u32 {
        self.room
    }
}

impl std::fmt::Debug for Opaque<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opaque(..)")
    }
}

/// The rest of the call, as an around sees it.
pub struct Next<'a> {
    rooms: &'a dyn Rooms,
    at: usize,
    brand: Brand<'a>,
}

impl<'a> Next<'a> {
    pub(crate) fn first(rooms: &'a dyn Rooms) -> Self {
        Self { rooms, at: 0, brand: PhantomData }
    }

    /// The input, to read: what a memo makes its key of.
    #[must_use]
    pub fn input(&self) -> &'a Input {
        self.rooms.input()
    }

    /// Runs the rest: arounds further in, then an attempt of the effect with its inspection and guards. Running it
    /// again is a new attempt, with a reset before its first delta.
    ///
    /// # Errors
    /// The attempt's own. After a sever or a refusal (spec row T11) nothing runs and the same error comes again;
    /// after a delivered delta of an effect that is not repeatable, `NotRepeatableError`.
    ///
    /// # Cancel safety
    /// Dropping the future ends the attempt: its channel is closed and nothing more is delivered.
    pub fn run(&mut self) -> Running<'_, 'a> {
        let rooms = self.rooms;
        let rest = match rooms.arounds().get(self.at) {
            Some(around) => {
                let next = Next { rooms, at: self.at + 1, brand: PhantomData };
                Rest::Around(around.around(rooms.call(), next))
            }
            None => Rest::Attempt(AttemptRun::Fresh(rooms)),
        };
        Running { rest, latch: (self.at > 0).then_some(rooms) }
    }

    /// Whether another run is possible: asked before a pause that would be in vain.
    ///
    /// # Errors
    /// What [`Next::run`] would answer without running anything.
    pub fn may_run(&self) -> Result<(), CallError> {
        self.rooms.may_run()
    }

    /// Keeps the output behind a proof, to serve it later. `None` when the proof is not of the last room.
    #[must_use]
    pub fn keep(&self, proof: &Opaque<'a>) -> Option<Kept> {
        self.rooms.keep(proof.room)
    }

    /// Serves a kept output in a room of its own: a reset if it is not the first, no text, no done.
    ///
    /// # Errors
    /// When it was kept from another tool or for another identity, or after a sever or a refusal.
    pub fn serve(&mut self, kept: &Kept) -> Result<Opaque<'a>, CallError> {
        Ok(Opaque { room: self.rooms.serve(kept)?, brand: PhantomData })
    }
}

impl std::fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Next").field("depth", &self.at).finish_non_exhaustive()
    }
}

/// A run of [`Next::run`]. Dropping it ends the attempt.
#[must_use = "futures do nothing unless polled"]
pub struct Running<'n, 'a> {
    rest: Rest<'n, 'a>,
    /// Where a refusal from further in is told: it is final for those further out (spec row T11).
    latch: Option<&'a dyn Rooms>,
}

enum Rest<'n, 'a> {
    Around(BoxFuture<'n, Result<Opaque<'a>, CallError>>),
    Attempt(AttemptRun<'a>),
}

/// One attempt. What is ready at its first poll needs no future of its own.
enum AttemptRun<'a> {
    Fresh(&'a dyn Rooms),
    Waits(BoxFuture<'a, Result<u32, CallError>>),
    Over,
}

impl AttemptRun<'_> {
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<u32, CallError>> {
        if let Self::Fresh(rooms) = *self {
            *self = Self::Over;
            match rooms.attempt() {
                Ok(Begun::Waits(attempt)) => *self = Self::Waits(attempt),
                Ok(Begun::Ready(room)) => return Poll::Ready(Ok(room)),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        match self {
            Self::Waits(attempt) => attempt.as_mut().poll(cx),
            Self::Fresh(_) | Self::Over => Poll::Ready(Err(over())),
        }
    }
}

#[cold]
fn over() -> CallError {
    CallError::named(ErrorName::OutputInvalid, "an attempt was polled after its end")
}

impl Running<'_, '_> {
    /// The run, pinned, for who polls it by hand: it needs no pinning of its own.
    #[inline]
    pub fn as_mut(&mut self) -> Pin<&mut Self> {
        Pin::new(self)
    }
}

impl<'a> Future for Running<'_, 'a> {
    type Output = Result<Opaque<'a>, CallError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let given = match &mut self.rest {
            Rest::Around(around) => ready!(around.as_mut().poll(cx)),
            Rest::Attempt(attempt) => {
                ready!(attempt.poll(cx)).map(|room| Opaque { room, brand: PhantomData })
            }
        };
        if let (Err(error), Some(rooms)) = (&given, self.latch)
            && error.is_refusal()
        {
            rooms.latch(error);
        }
        Poll::Ready(given)
    }
}

impl std::fmt::Debug for Running<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running(..)")
    }
}

/// An inspected output that was kept: unreadable, and served only to the tool and identity it was kept from.
#[derive(Clone)]
pub struct Kept(pub(crate) Arc<KeptInner>);

pub(crate) struct KeptInner {
    pub(crate) owner: MemoIdentity,
    /// Contained: whoever lets go of the last one may be another call than its own.
    pub(crate) output: Contained<Arc<dyn Any + Send + Sync>>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept(..)")
    }
}

/// An attempt after its first step.
pub(crate) enum Begun<'a> {
    /// It ended well, in the room of that number.
    Ready(u32),
    Waits(BoxFuture<'a, Result<u32, CallError>>),
}

/// The rooms of one call, as `Next` drives them.
pub(crate) trait Rooms: Send + Sync {
    fn call(&self) -> &Call;
    fn input(&self) -> &Input;
    fn arounds(&self) -> &[Box<dyn Around>];
    fn may_run(&self) -> Result<(), CallError>;
    fn latch(&self, refusal: &CallError);
    fn attempt(&self) -> Result<Begun<'_>, CallError>;
    fn keep(&self, room: u32) -> Option<Kept>;
    fn serve(&self, kept: &Kept) -> Result<u32, CallError>;
}
