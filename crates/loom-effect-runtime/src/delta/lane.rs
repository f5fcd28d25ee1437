//! The open lanes of an attempt, each with guards of its own.

use super::Lane;
use super::guard::{Deliver, DeltaGuard, Outlet, Verdict};
use crate::call::CallInfo;
use crate::caught::{Contained, caught};
use crate::error::Violation;
use crate::runtime::RuntimeInner;

/// How many lanes one attempt may open; one more severs.
pub const LANES_MAX: usize = 64;

/// One guard of one lane.
pub(super) struct Guarded(Contained<Box<dyn DeltaGuard>>);

/// The lanes of one attempt: the one last written to apart, so that a single lane needs no list.
#[derive(Default)]
pub(super) struct Lanes {
    current: Option<OpenLane>,
    others: Vec<OpenLane>,
    finished: Vec<Lane>,
}

pub(super) struct OpenLane {
    pub(super) lane: Lane,
    pub(super) guards: Vec<Guarded>,
}

impl Lanes {
    pub(super) fn clear(&mut self) {
        self.current = None;
        self.others.clear();
        self.finished.clear();
    }

    /// The guards of `lane`, if it is the one last written to.
    #[inline]
    pub(super) fn current(&mut self, lane: Lane) -> Option<&mut [Guarded]> {
        self.current.as_mut().filter(|open| open.lane == lane).map(|open| &mut *open.guards)
    }

    /// Makes `lane` the current one if it is open already.
    pub(super) fn recall(&mut self, lane: Lane) -> bool {
        let Some(at) = self.others.iter().position(|open| open.lane == lane) else { return false };
        let recalled = self.others.swap_remove(at);
        self.others.extend(self.current.replace(recalled));
        true
    }

    /// Opens `lane` with fresh guards and makes it current. Every inspector whose registered form covers the kind
    /// must give a guard: one that gives none now severs (fail closed).
    pub(super) fn open(
        &mut self,
        lane: Lane,
        info: &CallInfo,
        runtime: &RuntimeInner,
    ) -> Result<(), Violation> {
        if self.finished.contains(&lane) {
            return Err(Violation::safety("lane.finished"));
        }
        let opened = usize::from(self.current.is_some()) + self.others.len() + self.finished.len();
        if opened >= LANES_MAX {
            return Err(Violation::safety("lane.limit"));
        }
        let mut guards = Vec::with_capacity(runtime.inspectors.len());
        for (at, inspector) in runtime.inspectors.iter().enumerate() {
            if !runtime.coverage.covers(at, lane.kind()) {
                continue;
            }
            let made = caught(|| inspector.delta_form().map(|form| form.guard(info, lane)));
            match made {
                Ok(Some(guard)) => guards.push(Guarded(Contained::new(guard))),
                Ok(None) => return Err(Violation::safety("guard.missing")),
                Err(_) => return Err(Violation::safety("guard.panicked")),
            }
        }
        let before = self.current.replace(OpenLane { lane, guards });
        self.others.extend(before);
        Ok(())
    }

    /// Takes out the lane that must be finished before `next` opens; it may not be written to again.
    pub(super) fn take_predecessor(&mut self, next: Lane) -> Option<OpenLane> {
        let retired = match self.current.take_if(|open| open.lane.yields_to(next)) {
            Some(current) => current,
            None => {
                let at = self.others.iter().position(|open| open.lane.yields_to(next))?;
                self.others.remove(at)
            }
        };
        self.finished.push(retired.lane);
        Some(retired)
    }

    /// Takes out a lane that is still open, the current one last.
    pub(super) fn take_any(&mut self) -> Option<OpenLane> {
        self.others.pop().or_else(|| self.current.take())
    }
}

/// Runs `text` through `guards` in order and delivers what comes out. Flat while guards pass; a guard that speaks
/// through its outlet runs the rest from there. The first violation stands.
#[inline]
pub(super) fn run<D: Deliver + ?Sized>(guards: &mut [Guarded], sinks: &mut D, text: &str) {
    if text.is_empty() {
        return;
    }
    let mut rest = guards;
    while sinks.severed().is_none() {
        let Some((first, behind)) = rest.split_first_mut() else { return sinks.deliver(text) };
        let Some(guard) = first.0.get_mut() else { return sever(sinks, Violation::safety("guard.missing")) };
        match guard.push(text, &mut Outlet { rest: behind, sinks: sinks.as_dyn() }) {
            Verdict::Pass => {}
            Verdict::Done => return,
            Verdict::Sever(violation) => return sever(sinks, violation),
        }
        rest = behind;
    }
}

/// Finishes a lane in chain order: guard 0's tail passes through the rest, then guard 1 finishes, and so on.
pub(super) fn finish(guards: &mut [Guarded], sinks: &mut dyn Deliver) {
    let mut rest = guards;
    while sinks.severed().is_none() {
        let Some((first, behind)) = rest.split_first_mut() else { return };
        let Some(guard) = first.0.get_mut() else { return sever(sinks, Violation::safety("guard.missing")) };
        if let Err(violation) = guard.finish(&mut Outlet { rest: behind, sinks }) {
            return sever(sinks, violation);
        }
        rest = behind;
    }
}

#[cold]
fn sever<D: Deliver + ?Sized>(sinks: &mut D, violation: Violation) {
    sinks.severed().get_or_insert(violation);
}
