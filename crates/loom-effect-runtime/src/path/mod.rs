//! The one governed path of a call, durable and transient alike, with and without a sink (spec row D2).
//!
//! Rewriting → coercion → authorizer → request guard → mode → `before` → arounds → attempts → `after` → done.

mod admit;
mod attempt;
mod live;
mod rooms;
mod wait;

use std::ops::Deref;

pub(crate) use live::Live;

use crate::call::{CallReport, Outcome};
use crate::caught::caught;
use crate::data::{Input, Output, ViewError};
use crate::error::CallError;
use crate::names::ErrorName;
use crate::warning::Warning;

/// Governs one call whose tool is resolved. Writes the output to `place` and answers how it went.
pub(crate) async fn govern(
    live: &Live<'_>,
    input: &mut Input,
    place: &mut Output,
) -> (Result<(), CallError>, CallReport) {
    let mut admitted = 0;
    let result = rooms(live, input, place, &mut admitted).await;
    let report = live.report(result.is_ok());
    if admitted > 0 {
        after(live, admitted, &Outcome { error: result.as_ref().err(), report });
    }
    if result.is_ok() {
        live.done(report.streamed);
    }
    (result, report)
}

async fn rooms(
    live: &Live<'_>,
    input: &mut Input,
    place: &mut Output,
    admitted: &mut usize,
) -> Result<(), CallError> {
    if let Some(broken) = live.call.options().and_then(|options| options.broken.clone()) {
        return Err(broken);
    }
    if let Some(reason) = live.call.signal().reason() {
        return Err(CallError::aborted(reason));
    }
    let runtime = live.runtime();
    if !runtime.rewriters.is_empty() {
        admit::rewrite(live, input).await?;
    }
    // A misfit is told only to whom the authorizer lets through; it decides on the raw input.
    let mut misfit = None;
    let coerced = match live.entry().effect.coerce(input) {
        Ok(coerced) => coerced,
        Err(error) => {
            misfit = Some(input_invalid(error));
            None
        }
    };
    let input: &Input = coerced.as_deref().unwrap_or(input);
    let authorized = admit::authorize(live, input).await?;
    if let Some(misfit) = misfit {
        return Err(misfit);
    }
    admit::admit(live, &authorized, admitted).await?;
    if runtime.arounds.is_empty() {
        attempt::attempt(live, &authorized, place).await.map(|_| ())
    } else {
        rooms::around(live, &authorized, place).await
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

#[cold]
fn input_invalid(error: ViewError) -> CallError {
    CallError::with_source(ErrorName::InputInvalid, "the input is not what the effect takes", error)
}

/// The witness that the authorizer let a call through. It holds the shared borrow of the input: after it nobody can
/// get a `&mut`.
pub(crate) struct Authorized<'i>(&'i Input);

impl Deref for Authorized<'_> {
    type Target = Input;

    fn deref(&self) -> &Input {
        self.0
    }
}
