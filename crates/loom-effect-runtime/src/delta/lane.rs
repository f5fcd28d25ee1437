//! The open lanes of an attempt, each with guards of its own.

use std::sync::Arc;

use super::Lane;
use super::guard::{DeltaForm, DeltaGuard, Outlet, Tail, Verdict};
use crate::call::CallInfo;
use crate::caught::caught;
use crate::error::Violation;
use crate::hook::OutputMiddleware;

/// How many lanes one attempt may open; one more severs.
pub const LANES_MAX: usize = 64;

/// One guard of one lane.
pub(super) struct Guarded(Box<dyn DeltaGuard>);

/// The lanes of one attempt: the one last written to first.
#[derive(Default)]
pub(super) struct Lanes {
    open: Vec<OpenLane>,
    finished: Vec<Lane>,
}

struct OpenLane {
    lane: Lane,
    guards: Vec<Guarded>,
}

impl Lanes {
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.finished.clear();
    }

    /// Whether writing to `lane` needs no new lane.
    #[inline]
    pub(super) fn is_current(&self, lane: Lane) -> bool {
        self.open.first().is_some_and(|open| open.lane == lane)
    }

    /// The guards of the lane last made current.
    #[inline]
    pub(super) fn current(&mut self) -> &mut [Guarded] {
        match self.open.first_mut() {
            Some(open) => &mut open.guards,
            None => &mut [],
        }
    }

    /// Makes `lane` the current one if it is open already.
    pub(super) fn recall(&mut self, lane: Lane) -> bool {
        match self.open.iter().position(|open| open.lane == lane) {
            Some(at) => {
                self.open.swap(0, at);
                true
            }
            None => false,
        }
    }

    /// Opens `lane` with fresh guards and makes it current.
    pub(super) fn open(
        &mut self,
        lane: Lane,
        info: &CallInfo,
        inspectors: &[Arc<dyn OutputMiddleware>],
    ) -> Result<(), Violation> {
        if self.finished.contains(&lane) {
            return Err(Violation::safety("lane.finished"));
        }
        if self.open.len() + self.finished.len() >= LANES_MAX {
            return Err(Violation::safety("lane.limit"));
        }
        let mut guards = Vec::with_capacity(inspectors.len());
        for inspector in inspectors {
            let made = caught(|| {
                let form: &dyn DeltaForm = inspector.delta_form()?;
                form.kinds().has(lane.kind()).then(|| form.guard(info, lane.kind()))
            });
            match made {
                Ok(Some(guard)) => guards.push(Guarded(guard)),
                Ok(None) => {}
                Err(_) => return Err(Violation::safety("guard.panicked")),
            }
        }
        self.open.insert(0, OpenLane { lane, guards });
        Ok(())
    }

    /// Takes out the lane that must be finished before `next` opens.
    pub(super) fn take_predecessor(&mut self, next: Lane) -> Option<(Lane, Vec<Guarded>)> {
        let at = self.open.iter().position(|open| open.lane.yields_to(next))?;
        Some(self.retire(at))
    }

    /// Takes out any lane that is still open, oldest opened last.
    pub(super) fn take_any(&mut self) -> Option<(Lane, Vec<Guarded>)> {
        if self.open.is_empty() { None } else { Some(self.retire(self.open.len() - 1)) }
    }

    fn retire(&mut self, at: usize) -> (Lane, Vec<Guarded>) {
        let open = self.open.remove(at);
        self.finished.push(open.lane);
        (open.lane, open.guards)
    }
}

/// Runs `text` through `guards` in order and delivers what comes out. Flat while guards pass; a guard that speaks
/// through its outlet runs the rest from there.
#[inline]
pub(super) fn run(guards: &mut [Guarded], tail: &mut dyn Tail, text: &str) {
    let mut rest = guards;
    loop {
        if text.is_empty() || tail.is_severed() {
            return;
        }
        match rest.split_first_mut() {
            None => return tail.deliver(text),
            Some((first, behind)) => {
                match first.0.push(text, &mut Outlet { rest: behind, tail }) {
                    Verdict::Pass => {}
                    Verdict::Done => return,
                    Verdict::Sever(violation) => return tail.sever(violation),
                }
                rest = behind;
            }
        }
    }
}

/// Finishes a lane in chain order: guard 0's tail passes through the rest, then guard 1 finishes, and so on.
pub(super) fn finish(guards: &mut [Guarded], tail: &mut dyn Tail) {
    let mut rest = guards;
    while let Some((first, behind)) = rest.split_first_mut() {
        if tail.is_severed() {
            return;
        }
        if let Err(violation) = first.0.finish(&mut Outlet { rest: behind, tail }) {
            return tail.sever(violation);
        }
        rest = behind;
    }
}
