//! What stands before the attempts: rewriting, the authorizer, the request guard, the mode check, `before` hooks.

use std::any::TypeId;

use loom_classify::guard::RequestError;

use super::Live;
use super::authorized::Proof;
use super::wait::bounded;
use crate::call::Seam;
use crate::caught::caught;
use crate::data::Input;
use crate::effect::EffectMode;
use crate::error::{CallError, Refusal};
use crate::hook::Step;
use crate::names::ErrorName;
use crate::runtime::ToolEntry;

/// The input as the effect's own type, when it was another, and what failed on the way: rewriting, then coercion.
/// The failure is kept: it is told only to whom the authorizer lets through.
pub(crate) async fn prepare(
    live: &Live,
    input: &mut Input,
    from: TypeId,
) -> (Option<Box<Input>>, Option<CallError>) {
    if let Err(error) = rewrite(live, input).await {
        return (None, Some(error));
    }
    let effect = &live.entry().effect;
    if from == live.entry().input_type {
        return (None, None);
    }
    match caught(|| effect.coerce(input)) {
        Ok(Ok(coerced)) => (coerced, None),
        Ok(Err(error)) => (None, Some(unfit(live, input, error))),
        Err(_) => (None, Some(input_panicked())),
    }
}

/// Lets every rewriter at the input, in order.
async fn rewrite(live: &Live, input: &mut Input) -> Result<(), CallError> {
    let runtime = live.runtime();
    for (at, rewriter) in runtime.rewriters.iter().enumerate() {
        let panicked = || Refusal::safety(format!("{}.panicked", runtime.names.rewriter(at)));
        match caught(|| rewriter.rewrite(&live.call, input)).map_err(|_| panicked())? {
            Step::Go => {}
            Step::Deny(refusal) => return Err(refusal.into()),
            Step::Wait => {
                let late = || Refusal::safety(format!("{}.deadline", runtime.names.rewriter(at)));
                let input = &mut *input;
                bounded(
                    &live.call,
                    || (rewriter.rewrite_wait(&live.call, input), rewriter.deadline()),
                    late,
                    panicked,
                )
                .await?;
            }
        }
    }
    Ok(())
}

/// Asks the authorizer; `None` where it waits. Runs under the lane's catch: a panic denies.
#[inline]
pub(super) fn authorize(live: &Live, input: &Input) -> Result<Option<Proof>, CallError> {
    let authorizer = &live.runtime().authorizer;
    let call = &live.call;
    let identity = call.identity();
    if call.acts_as_another() {
        authorizer.may_act_as(call, call.caller_identity())?;
    }
    if let Some(delegation) = identity.principal().delegation()
        && !delegation.covers(call.tool())
    {
        let grant = format!("delegation by {}: {}", delegation.issuer(), call.tool());
        return Err(Refusal::capability_denied(grant).chain(identity.principal().chain()).into());
    }
    match authorizer.authorize(call, input) {
        Step::Go => Ok(Some(Proof::by_authorizer())),
        Step::Deny(refusal) => Err(refusal.into()),
        Step::Wait => Ok(None),
    }
}

/// Awaits the authorizer. A panic, a deadline or an authorizer that cannot decide denies.
pub(super) async fn authorize_wait(live: &Live, input: &Input) -> Result<Proof, CallError> {
    let authorizer = &live.runtime().authorizer;
    let ask = || (authorizer.authorize_wait(&live.call, input), authorizer.deadline());
    bounded(&live.call, ask, || denied("authorizer.deadline"), || denied("authorizer.panicked")).await?;
    Ok(Proof::by_authorizer())
}

/// No taint in a request outside its declared place (spec row D9), none beyond the stated size and depth, and the
/// effect's mode fits the seam (spec row T7). Runs under the lane's catch.
#[inline]
pub(super) fn guard(live: &Live, entry: &ToolEntry, input: &Input) -> Result<(), CallError> {
    match input.payload().guard(&live.runtime().limits) {
        Ok(None) => {}
        Ok(Some(fenced)) => live.fence(fenced),
        Err(error) => return Err(guard_error(error)),
    }
    let Some(mode) = entry.mode else { return Ok(()) };
    match (mode, live.call.seam()) {
        (EffectMode::Journaled, Seam::Durable) | (EffectMode::Transient, Seam::Transient) => Ok(()),
        _ => Err(wrong_mode(live.call.tool(), mode)),
    }
}

/// Awaits the `before` hook at `at`.
pub(super) async fn before_wait(live: &Live, input: &Input, at: usize) -> Result<(), CallError> {
    let runtime = live.runtime();
    let Some(middleware) = runtime.middlewares.get(at) else { return Ok(()) };
    let late = || Refusal::safety(format!("{}.deadline", runtime.names.middleware(at)));
    let ask = || (middleware.before_wait(&live.call, input), middleware.deadline());
    bounded(&live.call, ask, late, || before_panicked(live, at)).await
}

#[cold]
pub(super) fn before_panicked(live: &Live, at: usize) -> Refusal {
    Refusal::safety(format!("{}.panicked", live.runtime().names.middleware(at)))
}

#[cold]
pub(super) fn denied(rule: &'static str) -> Refusal {
    Refusal::new(ErrorName::CapabilityDenied, rule)
}

/// An input that does not fit; where taint in it is the cause, that is what is told (spec row D9).
#[cold]
fn unfit(live: &Live, input: &Input, error: crate::ViewError) -> CallError {
    if let Ok(Err(RequestError::Untrusted(untrusted))) =
        caught(|| input.payload().guard(&live.runtime().limits))
    {
        return guard_error(RequestError::Untrusted(untrusted));
    }
    CallError::with_source(ErrorName::InputInvalid, "the input is not what the effect takes", error)
}

#[cold]
pub(super) fn input_panicked() -> CallError {
    CallError::named(ErrorName::InputInvalid, "the input panicked when it was read")
}

#[cold]
fn guard_error(error: RequestError) -> CallError {
    match error {
        RequestError::Untrusted(error) => CallError::with_source(
            ErrorName::UntrustedContent,
            "tainted content stands in the request",
            error,
        ),
        error => CallError::with_source(ErrorName::InputInvalid, "the input breaks a stated bound", error),
    }
}

#[cold]
fn wrong_mode(tool: &str, mode: EffectMode) -> CallError {
    let message = match mode {
        EffectMode::Journaled => format!("effect `{tool}` is journaled: call it with `run`"),
        EffectMode::Transient => {
            format!("effect `{tool}` is transient: call it in a decide scope, not with `run`")
        }
    };
    CallError::named(ErrorName::EffectModeViolation, message)
}
