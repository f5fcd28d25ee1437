//! The live state of one call: rooms, channel, usage.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use loom_classify::Origins;

use crate::call::{Call, CallReport};
use crate::delta::{Channel, StreamFacts, Usage};
use crate::error::Violation;
use crate::runtime::{RuntimeInner, ToolEntry};

/// What the attempts of one call share. Lives in the call's frame.
pub(crate) struct Live<'a> {
    pub(crate) call: &'a Call,
    /// Made at the first asking: a call that does not stream pays nothing.
    channel: OnceLock<Arc<Channel>>,
    fenced: OnceLock<Origins>,
    rooms: AtomicU32,
    executions: AtomicU32,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    /// Reported in the attempt that runs.
    reported: Option<Usage>,
    /// Of the attempt that ended last.
    last: Option<Usage>,
    /// Over all attempts.
    total: Option<Usage>,
    streamed: bool,
    checked: bool,
}

impl<'a> Live<'a> {
    pub(crate) fn new(call: &'a Call) -> Self {
        Self {
            call,
            channel: OnceLock::new(),
            fenced: OnceLock::new(),
            rooms: AtomicU32::new(0),
            executions: AtomicU32::new(0),
            tally: Mutex::default(),
        }
    }

    #[inline]
    pub(crate) fn runtime(&self) -> &'a RuntimeInner {
        self.call.info().caller.runtime()
    }

    #[inline]
    pub(crate) fn entry(&self) -> &'a ToolEntry {
        self.call.info().entry()
    }

    /// Remembers the origins of fenced content: they join those of what the call gives (spec row D9).
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
        self.channel.get_or_init(|| Arc::new(Channel::open(self.call, self.origins(), room)))
    }

    pub(super) fn existing_channel(&self) -> Option<&Arc<Channel>> {
        self.channel.get()
    }

    pub(super) fn severed(&self) -> Option<Violation> {
        self.channel.get()?.severed()
    }

    pub(super) fn ever_delivered(&self) -> bool {
        self.channel.get().is_some_and(|channel| channel.ever_delivered())
    }

    pub(crate) fn report_usage(&self, usage: Usage) {
        self.tally().reported = Some(usage);
    }

    /// Opens the next room; from the second on with an eager reset (spec row D11).
    pub(super) fn enter(&self) -> Room<'_, 'a> {
        let number = self.rooms.fetch_add(1, Ordering::Relaxed) + 1;
        if number > 1 {
            let sunk = self.entry().sink.is_some() || self.call.options().is_some_and(|o| o.sink.is_some());
            if sunk || self.channel.get().is_some() {
                self.channel(number - 1).begin(self.call, number);
            }
            let mut tally = self.tally();
            tally.streamed = false;
            tally.checked = false;
        }
        Room { live: self, number }
    }

    pub(super) fn count_execution(&self) {
        self.executions.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn settle_stream(&self, facts: StreamFacts, checked: bool) {
        let mut tally = self.tally();
        tally.streamed = facts.delivered || facts.ended;
        tally.checked = checked;
    }

    pub(super) fn report(&self, ok: bool) -> CallReport {
        let tally = self.tally();
        CallReport {
            attempts: self.executions.load(Ordering::Relaxed),
            streamed: ok && tally.streamed,
            checked: ok && tally.checked,
            usage: tally.total,
        }
    }

    /// The call succeeded: `done` to the per-call sink, where the successful attempt streamed.
    pub(super) fn done(&self, streamed: bool) {
        if streamed && let Some(channel) = self.channel.get() {
            let usage = self.tally().last;
            channel.done(usage);
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One room, open until this is dropped: by success, error, timeout, panic, or a caller that goes away.
pub(super) struct Room<'l, 'a> {
    live: &'l Live<'a>,
    pub(super) number: u32,
}

impl Drop for Room<'_, '_> {
    fn drop(&mut self) {
        let streamed = self.live.channel.get().and_then(|channel| {
            channel.close(self.number);
            channel.usage()
        });
        let mut tally = self.live.tally();
        let reported = tally.reported.take();
        let usage = streamed.or(reported);
        tally.last = usage;
        tally.total = match (tally.total, usage) {
            (Some(total), Some(usage)) => Some(total.plus(usage)),
            (total, usage) => total.or(usage),
        };
    }
}
