//! What stands before the attempts: rewriting, the authorizer, the request guard, the mode check, `before` hooks.

use std::any::TypeId;

use loom_classify::guard::RequestError;

use super::Live;
use super::authorized::Authorized;
use super::wait::bounded;
use crate::call::{HOOK_NONE, Seam};
use crate::caught::caught;
use crate::data::Input;
use crate::effect::EffectMode;
use crate::error::{CallError, Refusal};
use crate::hook::Step;
use crate::names::ErrorName;

/// The input as the effect's own type, when it was another, and what failed on the way: rewriting, then coercion.
/// The failure is kept: it is told only to whom the authorizer lets through.
pub(crate) async fn prepare(
    live: &Live<'_>,
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
        Ok(Err(error)) => (None, Some(input_invalid(error))),
        Err(_) => (None, Some(input_panicked())),
    }
}

/// Lets every rewriter at the input, in order.
async fn rewrite(live: &Live<'_>, input: &mut Input) -> Result<(), CallError> {
    let runtime = live.runtime();
    for (at, rewriter) in runtime.rewriters.iter().enumerate() {
        let panicked = || Refusal::safety(format!("{}.panicked", runtime.names.rewriter(at)));
        match caught(|| rewriter.rewrite(live.call, input)).map_err(|_| panicked())? {
            Step::Go => {}
            Step::Deny(refusal) => return Err(refusal.into()),
            Step::Wait => {
                let late = || Refusal::safety(format!("{}.deadline", runtime.names.rewriter(at)));
                let input = &mut *input;
                bounded(
                    live.call,
                    || (rewriter.rewrite_wait(live.call, input), rewriter.deadline()),
                    late,
                    panicked,
                )
                .await?;
            }
        }
    }
    Ok(())
}

/// Asks the authorizer; `None` where it waits. A panic denies.
#[inline]
pub(super) fn authorize<'i>(live: &Live<'_>, input: &'i Input) -> Result<Option<Authorized<'i>>, CallError> {
    match caught(|| ask(live, input)) {
        Ok(Step::Go) => Ok(Some(Authorized::by_authorizer(input))),
        Ok(Step::Deny(refusal)) => Err(refusal.into()),
        Ok(Step::Wait) => Ok(None),
        Err(_) => Err(denied("authorizer.panicked").into()),
    }
}

/// Awaits the authorizer. A panic, a deadline or an authorizer that cannot decide denies.
pub(super) async fn authorize_wait<'i>(
    live: &Live<'_>,
    input: &'i Input,
) -> Result<Authorized<'i>, CallError> {
    let authorizer = &live.runtime().authorizer;
    let ask = || (authorizer.authorize_wait(live.call, input), authorizer.deadline());
    bounded(live.call, ask, || denied("authorizer.deadline"), || denied("authorizer.panicked")).await?;
    Ok(Authorized::by_authorizer(input))
}

#[inline]
fn ask(live: &Live<'_>, input: &Input) -> Step {
    let authorizer = &live.runtime().authorizer;
    let identity = live.call.identity();
    if live.call.acts_as_another()
        && let Some(run_as) = identity.run_as()
        && let Err(refusal) = authorizer.may_act_as(live.call, run_as)
    {
        return Step::Deny(refusal);
    }
    if let Some(delegation) = identity.principal().delegation()
        && !delegation.covers(live.call.tool())
    {
        let grant = format!("delegation by {}: {}", delegation.issuer(), live.call.tool());
        return Step::Deny(Refusal::capability_denied(grant).chain(identity.principal().chain()));
    }
    authorizer.authorize(live.call, input)
}

/// No taint in a request outside its declared place (spec row D9), none beyond the stated size and depth, and the
/// effect's mode fits the seam (spec row T7).
#[inline]
pub(super) fn guard(live: &Live<'_>, input: &Input) -> Result<(), CallError> {
    match caught(|| input.payload().guard(&live.runtime().limits)) {
        Ok(Ok(guarded)) if guarded.fenced.is_empty() => {}
        Ok(Ok(guarded)) => live.fence(guarded.fenced),
        Ok(Err(error)) => return Err(guard_error(error)),
        Err(_) => return Err(input_panicked()),
    }
    match (live.entry().mode, live.call.seam()) {
        (None, _)
        | (Some(EffectMode::Journaled), Seam::Durable)
        | (Some(EffectMode::Transient), Seam::Transient) => Ok(()),
        (Some(mode), _) => Err(wrong_mode(live.call.tool(), mode)),
    }
}

/// Runs `before` hooks from `admitted` on, which counts those that said Go. False where one waits.
#[inline]
pub(super) fn before(live: &Live<'_>, input: &Input, admitted: &mut usize) -> Result<bool, CallError> {
    let runtime = live.runtime();
    let step = caught(|| {
        for middleware in runtime.middlewares.iter().skip(*admitted) {
            live.call.enter_hook(*admitted);
            match middleware.before(live.call, input) {
                Step::Go => *admitted += 1,
                step => return step,
            }
        }
        Step::Go
    });
    match step {
        Ok(Step::Go) => {
            live.call.enter_hook(HOOK_NONE);
            Ok(true)
        }
        Ok(Step::Wait) => Ok(false),
        Ok(Step::Deny(refusal)) => Err(refusal.into()),
        Err(_) => Err(before_panicked(live, *admitted).into()),
    }
}

/// Awaits the `before` hook at `at`.
pub(super) async fn before_wait(live: &Live<'_>, input: &Input, at: usize) -> Result<(), CallError> {
    let runtime = live.runtime();
    let Some(middleware) = runtime.middlewares.get(at) else { return Ok(()) };
    let late = || Refusal::safety(format!("{}.deadline", runtime.names.middleware(at)));
    let ask = || (middleware.before_wait(live.call, input), middleware.deadline());
    bounded(live.call, ask, late, || before_panicked(live, at)).await
}

#[cold]
fn before_panicked(live: &Live<'_>, at: usize) -> Refusal {
    Refusal::safety(format!("{}.panicked", live.runtime().names.middleware(at)))
}

#[cold]
fn denied(rule: &'static str) -> Refusal {
    Refusal::new(ErrorName::CapabilityDenied, rule)
}

#[cold]
fn input_invalid(error: crate::ViewError) -> CallError {
    CallError::with_source(ErrorName::InputInvalid, "the input is not what the effect takes", error)
}

#[cold]
fn input_panicked() -> CallError {
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
