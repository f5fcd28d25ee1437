//! The live state of one call: rooms, channel, usage.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use loom_classify::Origins;

use crate::call::{Call, CallReport};
use crate::delta::{Channel, DeltaKinds, StreamFacts, Usage, UsageCell};
use crate::error::{CallError, Violation};
use crate::names::ErrorName;
use crate::runtime::{RuntimeInner, ToolEntry};

/// What the attempts of one call share. Lives in the call's frame; attempts follow one another, so relaxed loads and
/// stores are enough.
pub(crate) struct Live {
    pub(crate) call: Call,
    /// Made at the first asking: a call that does not stream pays nothing.
    channel: OnceLock<Arc<Channel>>,
    fenced: OnceLock<Origins>,
    /// The room that runs or ran last, from 1.
    rooms: AtomicU32,
    open: AtomicBool,
    executions: AtomicU32,
    /// Reported outside the channel in the attempt that runs.
    reported: UsageCell,
    /// Of the attempt that ended last.
    last: UsageCell,
    /// Over all attempts.
    total: UsageCell,
    streamed: AtomicBool,
    checked: AtomicBool,
}

impl Live {
    #[inline]
    pub(crate) fn new(call: Call) -> Self {
        Self {
            call,
            channel: OnceLock::new(),
            fenced: OnceLock::new(),
            rooms: AtomicU32::new(0),
            open: AtomicBool::new(false),
            executions: AtomicU32::new(0),
            reported: UsageCell::unknown(),
            last: UsageCell::unknown(),
            total: UsageCell::unknown(),
            streamed: AtomicBool::new(false),
            checked: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn runtime(&self) -> &RuntimeInner {
        self.call.info().caller.runtime()
    }

    #[inline]
    pub(crate) fn entry(&self) -> &ToolEntry {
        self.call.info().entry()
    }

    /// Remembers the origins of fenced content: they join those of what the call gives (spec row D9).
    #[cold]
    pub(super) fn fence(&self, origins: Origins) {
        let _ = self.fenced.set(origins);
    }

    pub(crate) fn origins(&self) -> Origins {
        match self.fenced.get() {
            None => self.entry().origins.clone(),
            Some(fenced) => self.entry().origins.join(fenced),
        }
    }

    /// The channel, opened for `room` if there is none yet.
    pub(crate) fn channel(&self, room: u32) -> &Arc<Channel> {
        self.channel.get_or_init(|| Arc::new(Channel::open(&self.call, self.origins(), room)))
    }

    #[inline]
    pub(super) fn existing_channel(&self) -> Option<&Arc<Channel>> {
        self.channel.get()
    }

    #[inline]
    pub(super) fn severed(&self) -> Option<Violation> {
        self.channel.get()?.severed()
    }

    pub(super) fn ever_delivered(&self) -> bool {
        self.channel.get().is_some_and(|channel| channel.ever_delivered())
    }

    pub(crate) fn report_usage(&self, usage: Usage) {
        self.reported.set(usage);
    }

    /// Opens the next room; from the second on with an eager reset (spec row D11).
    ///
    /// # Errors
    /// When the call is driven from inside one of its own deliveries.
    #[inline]
    pub(super) fn enter(&self) -> Result<u32, CallError> {
        let room = self.room() + 1;
        self.rooms.store(room, Ordering::Relaxed);
        self.open.store(true, Ordering::Relaxed);
        if room > 1 {
            self.begin_again(room)?;
        } else if self.runtime().coverage.kinds() != DeltaKinds::ALL && self.has_sink() {
            // Made at once, so that a blind stream is told of even where the effect streams nothing.
            self.channel(room);
        }
        Ok(room)
    }

    #[inline]
    fn has_sink(&self) -> bool {
        self.entry().sink.is_some() || self.call.options().is_some_and(|options| options.sink.is_some())
    }

    /// The room that runs or ran last.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.rooms.load(Ordering::Relaxed)
    }

    /// Ends the room that runs, if one does, and takes down its usage. Nothing of it is delivered after this.
    #[inline]
    pub(super) fn leave(&self) {
        if self.open.load(Ordering::Relaxed) {
            self.open.store(false, Ordering::Relaxed);
            let channel = self.channel.get();
            if channel.is_some() || self.reported.is_known() || self.last.is_known() {
                self.take_down(channel);
            }
        }
    }

    #[cold]
    fn take_down(&self, channel: Option<&Arc<Channel>>) {
        let streamed = channel.and_then(|channel| {
            channel.close(self.room());
            channel.usage()
        });
        let usage = streamed.or_else(|| self.reported.get());
        self.reported.clear();
        self.last.clear();
        if let Some(usage) = usage {
            self.last.set(usage);
            self.total.set(self.total.get().map_or(usage, |total| total.plus(usage)));
        }
    }

    #[cold]
    fn begin_again(&self, room: u32) -> Result<(), CallError> {
        self.streamed.store(false, Ordering::Relaxed);
        self.checked.store(false, Ordering::Relaxed);
        if !self.has_sink() && self.channel.get().is_none() {
            return Ok(());
        }
        if self.channel(room - 1).begin(&self.call, room) { Ok(()) } else { Err(from_inside()) }
    }

    #[inline]
    pub(super) fn count_execution(&self) {
        self.executions.store(self.executions.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(super) fn settle_stream(&self, facts: StreamFacts, checked: bool) {
        self.streamed.store(facts.streamed, Ordering::Relaxed);
        self.checked.store(checked, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn report(&self, ok: bool) -> CallReport {
        CallReport {
            attempts: self.executions.load(Ordering::Relaxed),
            streamed: ok && self.streamed.load(Ordering::Relaxed),
            checked: ok && self.checked.load(Ordering::Relaxed),
            usage: self.total.get(),
        }
    }

    /// The end of the call: `done` to the per-call sink where it succeeded and its last attempt streamed; then
    /// sinks, guards and meters are let go, whoever still holds a handle.
    #[inline]
    pub(super) fn settle(&self, streamed: bool) {
        if let Some(channel) = self.channel.get() {
            channel.settle(streamed, self.last.get());
        }
    }
}

impl Drop for Live {
    /// A caller that goes away ends the room too.
    #[inline]
    fn drop(&mut self) {
        self.leave();
        self.settle(false);
    }
}

#[cold]
pub(super) fn from_inside() -> CallError {
    CallError::named(ErrorName::EffectFailed, "the call was driven from inside one of its own deliveries")
}
