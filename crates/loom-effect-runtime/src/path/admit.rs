//! What stands before the attempts: rewriting, the authorizer, the request guard, the mode check, `before` hooks.

use loom_classify::guard::RequestError;

use super::wait::bounded;
use super::{Authorized, Live};
use crate::call::Seam;
use crate::caught::caught;
use crate::data::Input;
use crate::effect::EffectMode;
use crate::error::{CallError, Refusal};
use crate::hook::Step;
use crate::names::ErrorName;

/// Lets every rewriter at the input, in order.
pub(super) async fn rewrite(live: &Live<'_>, input: &mut Input) -> Result<(), CallError> {
    let runtime = live.runtime();
    for (at, rewriter) in runtime.rewriters.iter().enumerate() {
        let panicked = || Refusal::safety(format!("{}.panicked", runtime.names.rewriter(at)));
        let step = caught(|| rewriter.rewrite(live.call, input));
        match step.map_err(|_| panicked())? {
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

/// Asks the authorizer. A panic, a deadline or a hook that cannot decide denies.
pub(super) async fn authorize<'i>(live: &Live<'_>, input: &'i Input) -> Result<Authorized<'i>, CallError> {
    let panicked = || denied("authorizer.panicked");
    let step = caught(|| ask(live, input));
    match step.map_err(|_| panicked())? {
        Step::Go => {}
        Step::Deny(refusal) => return Err(refusal.into()),
        Step::Wait => {
            let authorizer = &live.runtime().authorizer;
            let waiting = || (authorizer.authorize_wait(live.call, input), authorizer.deadline());
            bounded(live.call, waiting, || denied("authorizer.deadline"), panicked).await?;
        }
    }
    Ok(Authorized(input))
}

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

/// Request guard, mode check, then every `before` hook in order; `admitted` counts the hooks that said Go.
pub(super) async fn admit(
    live: &Live<'_>,
    input: &Authorized<'_>,
    admitted: &mut usize,
) -> Result<(), CallError> {
    guard(live, input)?;
    fits_mode(live)?;
    let runtime = live.runtime();
    loop {
        let panicked = |at: usize| Refusal::safety(format!("{}.panicked", runtime.names.middleware(at)));
        let lane = caught(|| before(live, input, admitted));
        match lane.map_err(|_| panicked(*admitted))? {
            Step::Go => return Ok(()),
            Step::Deny(refusal) => return Err(refusal.into()),
            Step::Wait => {
                let Some(middleware) = runtime.middlewares.get(*admitted) else { return Ok(()) };
                let late = || Refusal::safety(format!("{}.deadline", runtime.names.middleware(*admitted)));
                let waiting = || (middleware.before_wait(live.call, input), middleware.deadline());
                bounded(live.call, waiting, late, || panicked(*admitted)).await?;
                *admitted += 1;
            }
        }
    }
}

/// The synchronous lane: runs hooks until one does not say Go, and leaves its index in `admitted`.
#[inline]
fn before(live: &Live<'_>, input: &Input, admitted: &mut usize) -> Step {
    for middleware in live.runtime().middlewares.iter().skip(*admitted) {
        live.call.enter_hook(*admitted);
        match middleware.before(live.call, input) {
            Step::Go => *admitted += 1,
            step => return step,
        }
    }
    Step::Go
}

/// No taint in a request outside its declared place (spec row D9), and none beyond the stated size and depth.
fn guard(live: &Live<'_>, input: &Input) -> Result<(), CallError> {
    match input.payload().guard(&live.runtime().limits) {
        Ok(guarded) => {
            if !guarded.fenced.is_empty() {
                live.fence(guarded.fenced);
            }
            Ok(())
        }
        Err(error) => Err(guard_error(error)),
    }
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

/// A journaled effect only in `run`, a transient one only transiently, an undeclared one on both (spec row T7).
fn fits_mode(live: &Live<'_>) -> Result<(), CallError> {
    match (live.entry().mode, live.call.seam()) {
        (None, _)
        | (Some(EffectMode::Journaled), Seam::Durable)
        | (Some(EffectMode::Transient), Seam::Transient) => Ok(()),
        (Some(mode), _) => Err(wrong_mode(live.call.tool(), mode)),
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

fn denied(rule: &'static str) -> Refusal {
    Refusal::new(ErrorName::CapabilityDenied, rule)
}
