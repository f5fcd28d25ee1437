//! The one governed path of a call, durable and transient alike, with and without a sink (spec row D2).
//!
//! Rewriting → coercion → authorizer → request guard → mode → `before` → arounds → attempts → `after` → done.
//!
//! What needs no waiting runs in one synchronous lane; a step that waits is awaited and the lane goes on behind it.

mod admit;
mod attempt;
mod authorized;
mod live;
mod rooms;
mod wait;

pub(crate) use admit::prepare;
use attempt::Attempt;
use authorized::Authorized;
pub(crate) use live::Live;

use crate::call::{CallReport, Outcome};
use crate::caught::caught;
use crate::data::{Input, Output};
use crate::error::CallError;
use crate::warning::Warning;

/// A call on its way, from a prepared input to the result.
pub(crate) struct Path<'l, 'a> {
    live: &'l Live<'a>,
    input: &'l Input,
    /// What failed before the authorizer: told only to whom it lets through.
    kept: Option<CallError>,
    authorized: Option<Authorized<'l>>,
    guarded: bool,
    admitted: usize,
    attempt: Attempt<'l, 'a>,
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

impl<'l, 'a> Path<'l, 'a> {
    pub(crate) fn new(live: &'l Live<'a>, input: &'l Input, kept: Option<CallError>) -> Self {
        let attempt = Attempt::new(live);
        Self { live, input, kept, authorized: None, guarded: false, admitted: 0, attempt }
    }

    /// Goes on as far as nothing waits.
    #[inline]
    pub(crate) fn step(&mut self, place: &mut Output) -> Turn {
        match self.admission() {
            Ok(None) => {}
            Ok(Some(turn)) => return turn,
            Err(error) => return Turn::Done(Err(error)),
        }
        let Some(authorized) = &self.authorized else { return Turn::Authorizer };
        match self.attempt.step(authorized, place) {
            attempt::Turn::Done(result) => Turn::Done(result.map(|_| ())),
            turn => Turn::Attempt(turn),
        }
    }

    /// Awaits whatever the lane stopped at, to the end.
    pub(crate) async fn finish(&mut self, mut turn: Turn, place: &mut Output) -> Result<(), CallError> {
        loop {
            match turn {
                Turn::Done(result) => return result,
                Turn::Authorizer => {
                    self.authorized = Some(Box::pin(admit::authorize_wait(self.live, self.input)).await?);
                }
                Turn::Before => {
                    Box::pin(admit::before_wait(self.live, self.input, self.admitted)).await?;
                    self.admitted += 1;
                }
                Turn::Arounds => {
                    let Some(authorized) = &self.authorized else { return Err(authorized::missing()) };
                    return rooms::around(self.live, authorized, place).await;
                }
                Turn::Attempt(turn) => {
                    let Some(authorized) = &self.authorized else { return Err(authorized::missing()) };
                    return self.attempt.run(turn, authorized, place).await.map(|_| ());
                }
            }
            turn = self.step(place);
        }
    }

    /// Tells the `after` hooks, settles, and sends `done`.
    #[inline]
    pub(crate) fn conclude(&self, result: &Result<(), CallError>) -> CallReport {
        let report = self.live.report(result.is_ok());
        if self.admitted > 0 {
            after(self.live, self.admitted, &Outcome { error: result.as_ref().err(), report });
        }
        if report.streamed {
            self.live.done();
        }
        report
    }

    /// Authorizer, request guard, mode, `before`: none of it twice.
    #[inline]
    fn admission(&mut self) -> Result<Option<Turn>, CallError> {
        if self.authorized.is_none() {
            match admit::authorize(self.live, self.input)? {
                None => return Ok(Some(Turn::Authorizer)),
                authorized => self.authorized = authorized,
            }
        }
        if !self.guarded {
            if let Some(kept) = self.kept.take() {
                return Err(kept);
            }
            admit::guard(self.live, self.input)?;
            self.guarded = true;
        }
        let runtime = self.live.runtime();
        if self.admitted < runtime.middlewares.len()
            && !admit::before(self.live, self.input, &mut self.admitted)?
        {
            return Ok(Some(Turn::Before));
        }
        Ok((!runtime.arounds.is_empty()).then_some(Turn::Arounds))
    }
}

/// Tells every admitted hook, last first. A hook that panics is reported and the rest still hear.
fn after(live: &Live<'_>, admitted: usize, outcome: &Outcome<'_>) {
    let runtime = live.runtime();
    let mut left = admitted;
    while left > 0 {
        let told = caught(|| {
            while left > 0 {
                left -= 1;
                if let Some(middleware) = runtime.middlewares.get(left) {
                    live.call.enter_hook(left);
                    middleware.after(live.call, outcome);
                }
            }
        });
        if told.is_err() {
            let middleware = runtime.names.middleware(left);
            runtime.warn(&Warning::AfterPanicked { middleware, tool: live.call.tool() });
        }
    }
}
