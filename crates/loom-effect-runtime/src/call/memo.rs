//! The key under which a result may be shared (spec row T14).

use std::ops::ControlFlow;

use loom_classify::walk::{Scalar, Visit, WalkError};

use crate::call::{Call, CallOptions};
use crate::data::{Input, ViewError, from_json, push_text};
use crate::identity::{Identity, Principal, RunAs};

/// What a key has room for before it grows: that of a small input is one allocation.
const KEY_BYTES: usize = 192;

/// A memo's key: runtime, tool, canonical input and every option that decides who may see the result.
///
/// Equal keys mean that one call's result may be served to the other. Compare and hash it; its bytes are private.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MemoKey(Vec<u8>);

impl std::fmt::Debug for MemoKey {
    /// Prints no content: the key holds the input.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoKey(..)")
    }
}

/// Whom a kept output belongs to: a [`Kept`](crate::Kept) is served to nobody else.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct MemoIdentity {
    runtime: u64,
    tool: u32,
    identity: Identity,
}

impl Call {
    /// The key under which a memo may share this call's result: runtime, tool id, canonical input and every call option
    /// but signal, sink and what only the live path uses. Two identities never get one key, nor do two callers that act
    /// as the same one.
    ///
    /// Inputs whose JSON is the same, key order aside, are the same input. A field that serde skips is not in the key
    /// (`docs/limits.md`). A key that is not over 192 bytes, of an input whose maps have texts as keys, is one
    /// allocation.
    ///
    /// # Errors
    /// [`ViewError::NotJson`] when the input has no JSON form, as infinity and not-a-number have none.
    pub fn memo_key(&self, input: &Input) -> Result<MemoKey, ViewError> {
        let mut key = Vec::with_capacity(KEY_BYTES);
        key.extend_from_slice(&self.caller.runtime().number.to_le_bytes());
        push_text(self.tool(), &mut key);
        push_input(input, &mut key)?;
        push_options(self.options(), &mut key);
        push_identity(self.identity(), &mut key);
        if self.acts_as_another() {
            push_identity(self.caller_identity(), &mut key);
        }
        Ok(MemoKey(key))
    }

    /// Whether a kept output may be served to this call.
    pub(crate) fn owns(&self, owner: &MemoIdentity) -> bool {
        let MemoIdentity { runtime, tool, identity } = owner;
        *runtime == self.caller.runtime().number && *tool == self.info().tool && identity == self.identity()
    }

    pub(crate) fn memo_identity(&self) -> MemoIdentity {
        MemoIdentity {
            runtime: self.caller.runtime().number,
            tool: self.info().tool,
            identity: self.identity().clone(),
        }
    }
}

fn push_identity(identity: &Identity, key: &mut Vec<u8>) {
    let Identity { principal, run_as, transient_id } = identity;
    push_principal(principal, key);
    push_run_as(run_as.as_ref(), key);
    push_optional(key, transient_id.as_deref());
}

/// Stops at a number that JSON cannot write.
struct FiniteOnly;

impl Visit for FiniteOnly {
    fn scalar(&mut self, scalar: Scalar) -> ControlFlow<()> {
        match scalar {
            Scalar::Float(float) if !float.is_finite() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The input's canonical bytes, by way of the JSON view only where there is no other.
fn push_input(input: &Input, key: &mut Vec<u8>) -> Result<(), ViewError> {
    let start = key.len();
    if input.payload().canonical(key) {
        return Ok(());
    }
    key.truncate(start);
    // JSON has no form for them: two inputs that differ would be one key.
    if let Err(WalkError::Stopped) = input.walk(&mut FiniteOnly) {
        return Err(ViewError::NotJson);
    }
    from_json(input.json()?, key);
    Ok(())
}

/// Destructured without `..`: an option that is added and not decided on here does not compile.
fn push_options(options: Option<&CallOptions>, key: &mut Vec<u8>) {
    // As options of which none is set.
    let Some(options) = options else { return key.extend_from_slice(b"---") };
    let CallOptions {
        sink: _,
        signals: _,
        label,
        principal,
        run_as,
        step: _,
        key: _,
        totals: _,
        emitter: _,
        meter: _,
        in_execution: _,
        broken: _,
    } = options;
    push_optional(key, label.as_deref());
    match principal {
        None => key.push(b'-'),
        Some(principal) => push_principal(principal, key),
    }
    push_run_as(run_as.as_ref(), key);
}

fn push_run_as(run_as: Option<&RunAs>, key: &mut Vec<u8>) {
    match run_as {
        None => key.push(b'-'),
        Some(RunAs { workflow_id, execution_id }) => {
            push_text(workflow_id, key);
            push_text(execution_id, key);
        }
    }
}

fn push_principal(principal: &Principal, key: &mut Vec<u8>) {
    for link in principal.chain() {
        push_text(link, key);
    }
    key.push(b'|');
    push_optional(key, principal.actor());
    match principal.delegation() {
        None => key.push(b'-'),
        Some(delegation) => {
            push_text(delegation.issuer(), key);
            for tool in delegation.covered() {
                push_text(tool, key);
            }
            key.push(b'|');
        }
    }
}

fn push_optional(key: &mut Vec<u8>, part: Option<&str>) {
    match part {
        None => key.push(b'-'),
        Some(part) => push_text(part, key),
    }
}
