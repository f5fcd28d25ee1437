//! The one governed path of a call, durable and transient alike, with and without a sink (spec row D2).
//!
//! Rewriting → coercion → authorizer → request guard → mode → `before` → arounds → attempts → `after` → done.
//!
//! What needs no waiting runs in one synchronous lane under one catch; a step that waits is awaited, and the lane
//! goes on behind it.

mod admit;
mod attempt;
mod authorized;
mod live;
mod rooms;
mod wait;

pub(crate) use admit::prepare;
use attempt::Attempt;
use authorized::{Authorized, Proof};
pub(crate) use live::Live;

use crate::call::{CallReport, HOOK_NONE, Outcome};
use crate::caught::caught;
use crate::data::{Input, Output};
use crate::error::CallError;
use crate::warning::Warning;

/// How far a call is on its way, from a prepared input to the result.
pub(crate) struct Path {
    /// What failed before the authorizer: told only to whom it lets through.
    kept: Option<CallError>,
    proof: Option<Proof>,
    stage: Stage,
    admitted: usize,
    attempt: Attempt,
}

/// What the lane is at: where it goes on, and who is to blame for a panic.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Stage {
    Authorizer,
    Guard,
    Before,
    Attempt,
}

/// Where the synchronous lane stopped.
pub(crate) enum Turn {
    /// At the end.
    Done(Result<(), CallError>),
    /// The authorizer waits.
    Authorizer,
    /// The next `before` hook waits.
    Before,
    /// There are arounds: attempts are theirs to run.
    Arounds,
    /// The attempt waits.
    Attempt(attempt::Turn),
}

impl Path {
    pub(crate) fn new(kept: Option<CallError>) -> Self {
        Self { kept, proof: None, stage: Stage::Authorizer, admitted: 0, attempt: Attempt::new() }
    }

    /// Goes on as far as nothing waits.
    #[inline]
    pub(crate) fn step(&mut self, live: &Live, input: &Input, place: &mut Output) -> Turn {
        match caught(|| self.lane(live, input, place)) {
            Ok(Ok(turn)) => turn,
            Ok(Err(error)) => Turn::Done(Err(error)),
            Err(_) => Turn::Done(Err(self.blame(live))),
        }
    }

    /// Awaits whatever the lane stopped at, to the end.
    pub(crate) async fn finish(
        &mut self,
        mut turn: Turn,
        live: &Live,
        input: &Input,
        place: &mut Output,
    ) -> Result<(), CallError> {
        loop {
            match turn {
                Turn::Done(result) => return result,
                Turn::Authorizer => {
                    self.proof = Some(Box::pin(admit::authorize_wait(live, input)).await?);
                    self.stage = Stage::Guard;
                }
                Turn::Before => {
                    Box::pin(admit::before_wait(live, input, self.admitted)).await?;
                    self.admitted += 1;
                }
                Turn::Arounds => {
                    return rooms::around(live, &Authorized::by(&self.proof, input)?, place).await;
                }
                Turn::Attempt(turn) => {
                    let input = Authorized::by(&self.proof, input)?;
                    return self.attempt.run(turn, live, &input, place).await.map(|_| ());
                }
            }
            turn = self.step(live, input, place);
        }
    }

    /// Tells the `after` hooks, settles, and sends `done`. `result` is the caller's: output taken and parsed.
    #[inline]
    pub(crate) fn conclude<O>(&self, live: &Live, result: &Result<O, CallError>) -> CallReport {
        live.leave();
        let report = live.report(result.is_ok());
        if self.admitted > 0 {
            after(live, self.admitted, &Outcome { error: result.as_ref().err(), report: &report });
        }
        live.settle(report.streamed);
        report
    }

    #[inline]
    fn lane(&mut self, live: &Live, input: &Input, place: &mut Output) -> Result<Turn, CallError> {
        let (runtime, entry) = (live.runtime(), live.entry());
        if self.stage <= Stage::Authorizer {
            match admit::authorize(live, input)? {
                None => return Ok(Turn::Authorizer),
                proof => self.proof = proof,
            }
            self.stage = Stage::Guard;
        }
        if self.stage <= Stage::Guard {
            if let Some(kept) = &self.kept {
                return Err(kept.clone());
            }
            admit::guard(live, entry, input)?;
            self.stage = Stage::Before;
        }
        if self.stage <= Stage::Before {
            for middleware in runtime.middlewares.iter().skip(self.admitted) {
                live.call.enter_hook(self.admitted);
                match middleware.before(&live.call, input) {
                    crate::Step::Go => self.admitted += 1,
                    crate::Step::Wait => return Ok(Turn::Before),
                    crate::Step::Deny(refusal) => return Err(refusal.into()),
                }
            }
            live.call.enter_hook(HOOK_NONE);
            self.stage = Stage::Attempt;
        }
        if !runtime.arounds.is_empty() {
            return Ok(Turn::Arounds);
        }
        let input = Authorized::by(&self.proof, input)?;
        Ok(match self.attempt.lane(live, entry, &input, place)? {
            attempt::Turn::Done(_) => Turn::Done(Ok(())),
            turn => Turn::Attempt(turn),
        })
    }

    #[cold]
    fn blame(&self, live: &Live) -> CallError {
        match self.stage {
            Stage::Authorizer => admit::denied("authorizer.panicked").into(),
            Stage::Guard => admit::input_panicked(),
            Stage::Before => admit::before_panicked(live, self.admitted).into(),
            Stage::Attempt => self.attempt.blame(live),
        }
    }
}

/// Tells every admitted hook, last first. A hook that panics is reported and the rest still hear.
fn after(live: &Live, admitted: usize, outcome: &Outcome<'_>) {
    let runtime = live.runtime();
    let mut left = runtime.middlewares.get(..admitted).unwrap_or_default();
    while !left.is_empty() {
        let told = caught(|| {
            let mut at = left.len();
            for middleware in left.iter().rev() {
                at -= 1;
                live.call.enter_hook(at);
                middleware.after(&live.call, outcome);
            }
        });
        if told.is_ok() {
            return;
        }
        let at = live.call.hook();
        let middleware = runtime.names.middleware(at);
        runtime.warn(&Warning::AfterPanicked { middleware, tool: live.call.tool() });
        left = left.get(..at).unwrap_or_default();
    }
}
