//! The latch of a channel: who may write, decided under one lock.
//!
//! Write, open (a new attempt), close and settle take the same lock, so "after settle nothing" is exact across
//! threads: closing waits for a delivery in flight. A thread that already holds the lock, a sink that writes back
//! into its own channel or drops the call, is answered without waiting: its write is refused, its close takes
//! effect when the delivery in flight returns.
//!
//! This file is also compiled into the model-checking test, with `crate::sync` replaced.

use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, thread_token};

/// A latch around `T`, for rooms (attempts) that follow one another; `V` is what severs it.
pub(crate) struct Gate<T, V> {
    holder: AtomicUsize,
    cut: AtomicBool,
    inner: Mutex<Inner<T, V>>,
}

struct Inner<T, V> {
    room: u32,
    open: bool,
    severed: Option<V>,
    value: T,
}

impl<T, V: Clone> Inner<T, V> {
    #[inline]
    fn run<R>(
        &mut self,
        room: u32,
        cut: &AtomicBool,
        deliver: impl FnOnce(&mut T, &Cut<'_>) -> Result<R, V>,
    ) -> Result<R, Refused<V>> {
        if self.room != room {
            return Err(Refused::Closed);
        }
        if let Some(violation) = &self.severed {
            return Err(Refused::Severed(violation.clone()));
        }
        if !self.open {
            return Err(Refused::Closed);
        }
        deliver(&mut self.value, &Cut(cut)).map_err(|violation| {
            self.severed = Some(violation.clone());
            self.open = false;
            Refused::Severed(violation)
        })
    }
}

/// Why a write was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused<V> {
    /// The room is over, or another has begun.
    Closed,
    /// The writing thread is inside a delivery of this very gate.
    Busy,
    /// The room was severed, now or before.
    Severed(V),
}

/// Read between deliveries: whether the gate was closed from inside the one that just returned.
pub(crate) struct Cut<'a>(&'a AtomicBool);

impl Cut<'_> {
    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl<T, V: Clone> Gate<T, V> {
    /// A gate with room `room` open.
    pub(crate) fn open_at(room: u32, value: T) -> Self {
        Self {
            holder: AtomicUsize::new(0),
            cut: AtomicBool::new(false),
            inner: Mutex::new(Inner { room, open: true, severed: None, value }),
        }
    }

    /// Runs `deliver` if `room` is the open one. What it answers with an error severs the room for good.
    pub(crate) fn write<R>(
        &self,
        room: u32,
        deliver: impl FnOnce(&mut T, &Cut<'_>) -> Result<R, V>,
    ) -> Result<R, Refused<V>> {
        self.enter().ok_or(Refused::Busy)?.inner.run(room, &self.cut, deliver)
    }

    /// As [`Gate::write`], and ends the room under the same lock: no write comes after what `last` delivered.
    pub(crate) fn finish<R>(
        &self,
        room: u32,
        last: impl FnOnce(&mut T, &Cut<'_>) -> Result<R, V>,
    ) -> Result<R, Refused<V>> {
        let mut held = self.enter().ok_or(Refused::Busy)?;
        let finished = held.inner.run(room, &self.cut, last);
        if finished.is_ok() {
            held.inner.open = false;
        }
        finished
    }

    /// Ends whatever room was open and opens `room`; `begin` runs under the lock, before any write of the room. False
    /// where the thread is inside a delivery of this very gate: then nothing was opened.
    pub(crate) fn open(&self, room: u32, begin: impl FnOnce(&mut T, &Cut<'_>)) -> bool {
        let Some(mut held) = self.enter() else { return false };
        let inner = &mut *held.inner;
        inner.room = room;
        inner.open = true;
        inner.severed = None;
        begin(&mut inner.value, &Cut(&self.cut));
        true
    }

    /// Ends `room` if it is the open one. Waits for a delivery in flight on another thread.
    pub(crate) fn close(&self, room: u32) {
        match self.enter() {
            Some(mut held) => {
                if held.inner.room == room {
                    held.inner.open = false;
                }
            }
            None => self.cut.store(true, Ordering::Release),
        }
    }

    /// Looks at the value under the lock, whatever the room's state.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut T, Option<&V>) -> R) -> Option<R> {
        let mut held = self.enter()?;
        let inner = &mut *held.inner;
        Some(look(&mut inner.value, inner.severed.as_ref()))
    }

    fn enter(&self) -> Option<Held<'_, T, V>> {
        let token = thread_token();
        if self.holder.load(Ordering::Relaxed) == token {
            return None;
        }
        // A delivery that unwound left the value half-changed: every room is closed from then on.
        let inner = self.inner.lock().unwrap_or_else(|poisoned| {
            let mut inner = poisoned.into_inner();
            inner.open = false;
            inner
        });
        self.holder.store(token, Ordering::Relaxed);
        Some(Held { gate: self, inner })
    }
}

struct Held<'a, T, V> {
    gate: &'a Gate<T, V>,
    inner: MutexGuard<'a, Inner<T, V>>,
}

impl<T, V> Drop for Held<'_, T, V> {
    fn drop(&mut self) {
        self.gate.holder.store(0, Ordering::Relaxed);
        // A close from inside this very delivery takes effect here, still under the lock.
        if self.gate.cut.load(Ordering::Acquire) {
            self.gate.cut.store(false, Ordering::Release);
            self.inner.open = false;
        }
    }
}
