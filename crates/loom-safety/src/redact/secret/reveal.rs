//! Values put back into the input of one effect.

use std::ops::ControlFlow;
use std::sync::Arc;

use loom_classify::walk::{Visit, walk};
use loom_effect_runtime::{
    CallError, CallInfo, Data, DeltaSink, Effect, EffectContext, EffectMode, ErrorName, Refusal,
};
use serde_json::Value;

use super::{SecretRef, SecretVault, VaultError};
use crate::delta::INPUT_TEXT_BYTES_MAX;

/// An effect whose input gets the values in place of their references. Only an effect that is wrapped by name gets
/// any.
///
/// The values are put back behind the authorizer, on the way into the effect: whoever decides on the call, keeps its
/// input, makes a memo's key of it or records it has the reference. So a call that is refused has resolved nothing,
/// and a guard of input does not meet the value that it would refuse.
///
/// A reference is replaced in every text of the input, not in keys. One that the vault does not give to this call's
/// identity refuses the call under `vault.unknown`; the texts together may have
/// [`INPUT_TEXT_BYTES_MAX`](crate::INPUT_TEXT_BYTES_MAX) bytes afterwards, else `text-limit`.
///
/// Putting a value back is an unwrap: it came from an output, and stands in the input without that output's origins.
///
/// ```
/// use std::sync::Arc;
///
/// use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
/// use loom_safety::{MemoryVault, PiiValidator, Placeholder, Redaction, Revealing};
///
/// struct Ask;
/// impl Effect for Ask {
///     type Input = ();
///     type Output = String;
///     fn id(&self) -> &str { "ask" }
///     async fn execute(&self, (): &(), _cx: &EffectContext<'_>) -> Result<String, CallError> {
///         Ok("pay with 4111 1111 1111 1111".to_owned())
///     }
/// }
///
/// struct Pay;
/// impl Effect for Pay {
///     type Input = String;
///     type Output = bool;
///     fn id(&self) -> &str { "pay" }
///     async fn execute(&self, order: &String, _cx: &EffectContext<'_>) -> Result<bool, CallError> {
///         Ok(order == "pay with 4111 1111 1111 1111")
///     }
/// }
///
/// # futures::executor::block_on(async {
/// let vault = Arc::new(MemoryVault::default());
/// let redaction =
///     Redaction::new([PiiValidator::default().into()], Placeholder::reference(vault.clone()))?;
/// let runtime = EffectRuntime::builder()
///     .allow_all_calls()
///     .output_middleware(redaction)
///     .effect(Ask)
///     .effect(Revealing::new(Pay, vault))
///     .build()?;
/// let order = runtime.invoke_transient(runtime.tool::<(), String>("ask")?, ()).await?;
/// assert!(order.starts_with("pay with [secret:pii.card:"));
/// assert!(runtime.invoke_transient(runtime.tool::<String, bool>("pay")?, order).await?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Revealing<E> {
    effect: E,
    vault: Arc<dyn SecretVault>,
}

impl<E: Effect> Revealing<E> {
    /// `effect` with the values of `vault`.
    pub fn new(effect: E, vault: Arc<dyn SecretVault>) -> Self {
        Self { effect, vault }
    }

    /// The input with values in it; `None` where it has no reference.
    fn revealed(&self, input: &E::Input, call: &CallInfo) -> Result<Option<E::Input>, CallError> {
        if !has_reference(input)? {
            return Ok(None);
        }
        let mut json = serde_json::to_value(input).map_err(|_| unreadable())?;
        let mut bytes_left = INPUT_TEXT_BYTES_MAX;
        self.reveal(&mut json, call, &mut bytes_left)?;
        // The parser's own message may quote the value.
        serde_json::from_value(json).map(Some).map_err(|_| unreadable())
    }

    /// The depth is that of the input, which the request guard bounds.
    fn reveal(&self, json: &mut Value, call: &CallInfo, bytes_left: &mut usize) -> Result<(), Refusal> {
        match json {
            Value::String(text) => {
                let revealed = self.reveal_text(text, call, *bytes_left)?;
                *bytes_left = bytes_left.saturating_sub(revealed.len());
                *text = revealed;
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.reveal(item, call, bytes_left)),
            Value::Object(entries) => {
                entries.values_mut().try_for_each(|value| self.reveal(value, call, bytes_left))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn reveal_text(&self, text: &str, call: &CallInfo, bytes_max: usize) -> Result<String, Refusal> {
        let mut revealed = String::with_capacity(text.len());
        let mut from = 0;
        while let Some(range) = SecretRef::find(text, from) {
            revealed.push_str(text.get(from..range.start).unwrap_or_default());
            let reference = text.get(range.clone()).and_then(SecretRef::parse);
            let resolved = reference.map(|reference| self.vault.resolve(&reference, call.identity()));
            let secret = resolved.unwrap_or(Err(VaultError::Unknown));
            revealed.push_str(secret.map_err(|error| Refusal::safety(error.rule()))?.expose());
            from = range.end;
            if revealed.len() > bytes_max {
                return Err(Refusal::safety("text-limit"));
            }
        }
        revealed.push_str(text.get(from..).unwrap_or_default());
        if revealed.len() > bytes_max { Err(Refusal::safety("text-limit")) } else { Ok(revealed) }
    }
}

impl<E: Effect> Effect for Revealing<E> {
    type Input = E::Input;
    type Output = E::Output;

    fn id(&self) -> &str {
        self.effect.id()
    }

    fn ready(&self, input: &E::Input, cx: &EffectContext<'_>) -> Option<Result<E::Output, CallError>> {
        match has_reference(input) {
            Ok(false) => self.effect.ready(input, cx),
            // An input with references takes the other lane, where it is looked at once.
            Ok(true) => None,
            Err(error) => Some(Err(error)),
        }
    }

    async fn execute(&self, input: &E::Input, cx: &EffectContext<'_>) -> Result<E::Output, CallError> {
        match self.revealed(input, cx.call())? {
            Some(revealed) => self.effect.execute(&revealed, cx).await,
            None => self.effect.execute(input, cx).await,
        }
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        self.effect.delta_sink()
    }

    fn live_text(output: &E::Output, piece: &mut dyn FnMut(&str)) -> bool {
        E::live_text(output, piece)
    }

    fn mode(&self) -> Option<EffectMode> {
        self.effect.mode()
    }

    fn repeatable(&self) -> bool {
        self.effect.repeatable()
    }

    fn origin_kind(&self) -> &str {
        self.effect.origin_kind()
    }

    fn input_schema(&self) -> Option<Value> {
        self.effect.input_schema()
    }
}

impl<E> std::fmt::Debug for Revealing<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Revealing(..)")
    }
}

fn has_reference<I: Data>(input: &I) -> Result<bool, CallError> {
    let mut lookout = Lookout::default();
    walk(input, &mut lookout).map_err(|_| unreadable())?;
    Ok(lookout.0)
}

/// Looks for a text that has the shape of a reference.
#[derive(Default)]
struct Lookout(bool);

impl Visit for Lookout {
    fn key(&mut self, _key: &str) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn text(&mut self, text: &str) -> ControlFlow<()> {
        self.0 = self.0 || SecretRef::find(text, 0).is_some();
        ControlFlow::Continue(())
    }
}

fn unreadable() -> CallError {
    CallError::named(ErrorName::InputInvalid, "the input does not take the values of its references")
}
