//! The key under which a result may be shared (spec row T14).

use std::fmt::Write as _;
use std::ops::ControlFlow;

use loom_classify::walk::{Scalar, Visit, WalkError};
use serde_json::Value;

use crate::call::{Call, CallOptions};
use crate::data::{Input, ViewError};
use crate::identity::{Identity, Principal};

/// A memo's key: tool, canonical input and every option that decides who may see the result.
///
/// Equal keys mean that one call's result may be served to the other. Compare and hash it; its text is private.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MemoKey(Box<str>);

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
    /// The key under which a memo may share this call's result: tool id, canonical input and every call option
    /// but signal, sink and what only the live path uses. Two identities never get one key.
    ///
    /// A field that serde skips is not in the key (`docs/limits.md`).
    ///
    /// # Errors
    /// [`ViewError::NotJson`] when the input has no JSON form, as infinity and not-a-number have none.
    pub fn memo_key(&self, input: &Input) -> Result<MemoKey, ViewError> {
        // JSON has no form for them: two inputs that differ would be one key.
        if let Err(WalkError::Stopped) = input.walk(&mut FiniteOnly) {
            return Err(ViewError::NotJson);
        }
        let mut text = String::new();
        push(&mut text, self.tool());
        canonical(input.json()?, &mut text);
        match self.options() {
            None => push_options(&CallOptions::default(), &mut text),
            Some(options) => push_options(options, &mut text),
        }
        let Identity { principal, run_as, transient_id } = self.identity();
        push_principal(principal, &mut text);
        match run_as {
            None => text.push('-'),
            Some(run_as) => {
                push(&mut text, &run_as.workflow_id);
                push(&mut text, &run_as.execution_id);
            }
        }
        push_optional(&mut text, transient_id.as_deref());
        Ok(MemoKey(text.into_boxed_str()))
    }

    pub(crate) fn memo_identity(&self) -> MemoIdentity {
        MemoIdentity {
            runtime: self.caller.runtime().number,
            tool: self.info().tool,
            identity: self.identity().clone(),
        }
    }
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

/// Destructured without `..`: an option that is added and not decided on here does not compile.
fn push_options(options: &CallOptions, text: &mut String) {
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
    push_optional(text, label.as_deref());
    match principal {
        None => text.push('-'),
        Some(principal) => push_principal(principal, text),
    }
    push_optional(text, run_as.as_ref().map(|run_as| &*run_as.workflow_id));
    push_optional(text, run_as.as_ref().map(|run_as| &*run_as.execution_id));
}

fn push_principal(principal: &Principal, text: &mut String) {
    for link in principal.chain() {
        push(text, link);
    }
    text.push('|');
    push_optional(text, principal.actor());
    match principal.delegation() {
        None => text.push('-'),
        Some(delegation) => {
            push(text, delegation.issuer());
            for tool in delegation.covered() {
                push(text, tool);
            }
            text.push('|');
        }
    }
}

/// Length-prefixed, so that no two sequences of parts give one text.
fn push(text: &mut String, part: &str) {
    let _ = write!(text, "{}:", part.len());
    text.push_str(part);
}

fn push_optional(text: &mut String, part: Option<&str>) {
    match part {
        None => text.push('-'),
        Some(part) => push(text, part),
    }
}

/// Keys in sorted order, whatever the map type behind the view keeps.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            text.push('{');
            for (key, value) in entries {
                push(text, key);
                canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
            }
            text.push(']');
        }
        Value::String(string) => {
            text.push('s');
            push(text, string);
        }
        Value::Number(number) => {
            text.push('n');
            push(text, &number.to_string());
        }
        Value::Bool(true) => text.push('t'),
        Value::Bool(false) => text.push('f'),
        Value::Null => text.push('0'),
    }
}
