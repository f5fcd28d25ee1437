//! Redacts a secret word in the output of every call and in its live text, so that the two stay one text.
//!
//! Written by a stranger: against the public interface of `loom_effect_runtime` alone.
//!
//! ```
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
//! use std::sync::{Arc, Mutex};
//! use stranger_redactor::Redactor;
//!
//! struct Tells;
//!
//! impl Effect for Tells {
//!     type Input = ();
//!     type Output = String;
//!     fn id(&self) -> &str { "tells" }
//!     async fn execute(&self, (): &(), cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         for piece in ["the word is swo", "rdfish", ", keep it"] {
//!             cx.deltas().text(piece)?;
//!         }
//!         Ok("the word is swordfish, keep it".to_owned())
//!     }
//!     fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
//!         piece(output);
//!         true
//!     }
//! }
//!
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .output_middleware(Redactor::new("swordfish", "[…]")?)
//!     .effect(Tells)
//!     .build()?;
//! let live = Arc::new(Mutex::new(String::new()));
//! let sink = Arc::clone(&live);
//! # let tokio = tokio::runtime::Builder::new_current_thread().build()?;
//! # tokio.block_on(async {
//! let output = runtime
//!     .invoke_transient(runtime.tool::<(), String>("tells")?, ())
//!     .on_delta(move |delta| sink.lock().unwrap().push_str(delta.text().unwrap_tainted()))
//!     .await?;
//! assert_eq!(output, "the word is […], keep it");
//! assert_eq!(*live.lock().unwrap(), output);
//! # Ok::<(), CallError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod rule;

use std::sync::Arc;

use loom_effect_runtime::{
    Call, CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Output, OutputMiddleware, Refusal, Step,
    Verdict, Violation,
};
use serde_json::Value;

pub use rule::{InvalidRule, SECRET_BYTES_MAX};
use rule::{Rule, Transducer};

/// An inspector that replaces a secret word wherever it stands in a text of the output.
///
/// Its delta form runs the same transducer over the live text and holds back what may still become the word: fewer
/// bytes than the word has. It covers text and reasoning; tool arguments are JSON text, in which a word may be
/// spelled with escapes, so it does not claim them and no sink gets them.
pub struct Redactor {
    form: RedactorForm,
}

impl Redactor {
    /// Redacts `secret` to `mask`.
    ///
    /// # Errors
    /// [`InvalidRule`], when the word is empty or longer than [`SECRET_BYTES_MAX`] bytes, or the mask is empty or
    /// shares a character with the word (then what comes out could spell it).
    pub fn new(secret: &str, mask: &str) -> Result<Self, InvalidRule> {
        Ok(Self { form: RedactorForm(Arc::new(Rule::new(secret, mask)?)) })
    }

    fn redact_json(&self, json: &mut Value) {
        match json {
            Value::String(text) => *text = self.form.0.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(map) => {
                let entries = std::mem::take(map);
                for (key, mut value) in entries {
                    self.redact_json(&mut value);
                    map.insert(self.form.0.redact(&key), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl OutputMiddleware for Redactor {
    fn name(&self) -> &str {
        "stranger-redactor"
    }

    fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
        if let Some(text) = output.get_mut::<String>() {
            *text = self.form.0.redact(text);
            return Step::Go;
        }
        match output.edit(|json| self.redact_json(json)) {
            Ok(()) => Step::Go,
            // A text that no longer fits its type, such as a redacted enum name, is refused rather than let through.
            Err(_) => Step::Deny(Refusal::safety("stranger_redactor.does_not_fit")),
        }
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(&self.form)
    }
}

struct RedactorForm(Arc<Rule>);

impl DeltaForm for RedactorForm {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::TEXT | DeltaKinds::REASONING
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(RedactorGuard(Transducer::new(Arc::clone(&self.0))))
    }
}

struct RedactorGuard(Transducer);

impl DeltaGuard for RedactorGuard {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        self.0.push(text, &mut |piece| out.pass(piece));
        Verdict::Done
    }

    fn finish(&mut self, out: &mut Outlet<'_>) -> Result<(), Violation> {
        self.0.finish(&mut |piece| out.pass(piece));
        Ok(())
    }
}
