//! Drafts on their way into the journal: in order, in groups that are never torn, within the history's bound.

use std::collections::VecDeque;

use super::{HISTORY_BYTES_MAX, HISTORY_EVENTS_MAX, HISTORY_HEADROOM_EVENTS, weigh};
use crate::record::{Draft, Event};
use crate::store::{APPEND_BYTES_MAX, APPEND_RECORDS_MAX};

/// The most events that one step may emit, and that go into the journal as one before what follows them.
pub(crate) const GROUP_RECORDS_MAX: usize = 512;

/// The most bytes of such events; a result of the largest size fits into one append beside them.
pub(crate) const GROUP_BYTES_MAX: u64 = APPEND_BYTES_MAX as u64 / 2;

/// The history's bound is met; only cancel and the end may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[derive(Debug)]
pub(crate) struct Outbox {
    /// What joins the next draft: the flow's own events, and failures of deciders that may not matter.
    pending: Vec<Draft>,
    pending_bytes: u64,
    groups: VecDeque<(Vec<Draft>, u64)>,
    /// The sequence that the last queued draft will have.
    last_seq: u64,
    acked_bytes: u64,
    queued_bytes: u64,
}

impl Outbox {
    pub(super) fn new(last_seq: u64, acked_bytes: u64) -> Self {
        Self {
            pending: Vec::new(),
            pending_bytes: 0,
            groups: VecDeque::new(),
            last_seq,
            acked_bytes,
            queued_bytes: 0,
        }
    }

    pub(super) fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether the failure of a decider waits for what follows.
    pub(super) fn has_failure(&self) -> bool {
        self.pending.iter().any(is_failure)
    }

    /// Keeps a draft until the next one; `recorded` says that the journal may hold it already.
    pub(super) fn hold(&mut self, draft: Draft, recorded: bool) -> Result<(), Full> {
        let bytes = weigh(&draft);
        if !recorded {
            self.room_for(1, bytes)?;
        } else if self.pending.len() as u64 >= HISTORY_EVENTS_MAX {
            return Err(Full);
        }
        self.pending_bytes += bytes;
        self.pending.push(draft);
        Ok(())
    }

    /// Queues drafts as one, after what was held, and answers the last one's sequence.
    pub(super) fn push(&mut self, drafts: Vec<Draft>) -> Result<u64, Full> {
        let bytes = drafts.iter().map(weigh).sum();
        self.room_for(drafts.len(), bytes)?;
        Ok(self.queue(drafts, bytes))
    }

    /// As [`push`](Self::push) for the events that always fit.
    pub(super) fn push_reserved(&mut self, draft: Draft) -> u64 {
        let bytes = weigh(&draft);
        self.queue(vec![draft], bytes)
    }

    /// Queues what was held, and answers the last queued sequence.
    pub(super) fn flush(&mut self) -> u64 {
        if self.pending.is_empty() { self.last_seq } else { self.queue(Vec::new(), 0) }
    }

    /// The flow failed: the failure of a decider before it is told by the end itself.
    pub(super) fn forget_failures(&mut self) {
        self.pending.retain(|draft| !is_failure(draft));
    }

    /// Takes back the flow's first held event when the journal has it.
    pub(super) fn take_recorded(&mut self, name: &str) -> bool {
        let first = self
            .pending
            .first()
            .is_some_and(|draft| matches!(&draft.event, Event::DomainEvent(event) if event.name == name));
        if first {
            let draft = self.pending.remove(0);
            self.pending_bytes -= weigh(&draft);
        }
        first
    }

    pub(super) fn forget_held(&mut self) {
        self.pending.clear();
        self.pending_bytes = 0;
    }

    /// As many whole groups as one append takes.
    pub(super) fn take(&mut self) -> Option<Vec<Draft>> {
        let (mut drafts, mut bytes) = self.groups.pop_front()?;
        while let Some((next, more)) = self.groups.front() {
            if drafts.len() + next.len() > APPEND_RECORDS_MAX || bytes + more > APPEND_BYTES_MAX as u64 {
                break;
            }
            bytes += more;
            drafts.extend(self.groups.pop_front().unwrap_or_default().0);
        }
        Some(drafts)
    }

    pub(super) fn acknowledge(&mut self, bytes: u64) {
        self.acked_bytes = bytes;
        self.queued_bytes = self.groups.iter().map(|(_, bytes)| bytes).sum();
    }

    fn queue(&mut self, drafts: Vec<Draft>, bytes: u64) -> u64 {
        self.pending_bytes = 0;
        let (mut group, mut group_bytes) = (Vec::new(), 0);
        for draft in std::mem::take(&mut self.pending) {
            let bytes = weigh(&draft);
            if group.len() >= GROUP_RECORDS_MAX || group_bytes + bytes > GROUP_BYTES_MAX {
                self.close(&mut group, &mut group_bytes);
            }
            group_bytes += bytes;
            group.push(draft);
        }
        if group.len() + drafts.len() > APPEND_RECORDS_MAX || group_bytes + bytes > APPEND_BYTES_MAX as u64 {
            self.close(&mut group, &mut group_bytes);
        }
        group_bytes += bytes;
        group.extend(drafts);
        self.close(&mut group, &mut group_bytes);
        self.last_seq
    }

    fn close(&mut self, group: &mut Vec<Draft>, bytes: &mut u64) {
        self.last_seq += group.len() as u64;
        self.queued_bytes += *bytes;
        if !group.is_empty() {
            self.groups.push_back((std::mem::take(group), std::mem::take(bytes)));
        }
    }

    fn room_for(&self, records: usize, bytes: u64) -> Result<(), Full> {
        let events = self.last_seq + self.pending.len() as u64 + records as u64;
        let bytes = self.acked_bytes + self.queued_bytes + self.pending_bytes + bytes;
        if events + HISTORY_HEADROOM_EVENTS > HISTORY_EVENTS_MAX || bytes > HISTORY_BYTES_MAX {
            return Err(Full);
        }
        Ok(())
    }
}

fn is_failure(draft: &Draft) -> bool {
    matches!(draft.event, Event::StepFailed(_))
}
