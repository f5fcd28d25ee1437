//! Validators for personal data and denied patterns that guard a call's input, its output and its live text.
//!
//! Depend on this crate to put guards on governed calls, or to write a validator. A crate that only runs effects
//! does not need it.
//!
//! [`PiiValidator`] and [`DenyPatterns`] are the shipped validators, [`SafetyValidator`] is what they are,
//! [`SafetyMiddleware`] runs them in a runtime, and [`delta_window`] makes a delta form from a function. A stream
//! is severed before the delta that completes a match is delivered:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
//! use loom_safety::{DenyPattern, DenyPatterns, PiiValidator, SafetyMiddleware};
//!
//! struct Leaky;
//!
//! impl Effect for Leaky {
//!     type Input = String;
//!     type Output = String;
//!     fn id(&self) -> &str { "leaky" }
//!     async fn execute(&self, _prompt: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         for piece in ["Your card: ", "4111 1111 ", "1111 1111", ", thanks"] {
//!             cx.deltas().text(piece)?;
//!         }
//!         Ok("never".to_owned())
//!     }
//! }
//!
//! # futures::executor::block_on(async {
//! let deny = DenyPatterns::new([DenyPattern::literal("project zephyr").ignoring_case().word_bounded()])?;
//! let safety = SafetyMiddleware::new([PiiValidator::default().into(), deny.into()]);
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .middleware(safety.clone())     // input
//!     .output_middleware(safety)      // output and live text
//!     .effect(Leaky)
//!     .build()?;
//!
//! let seen = Arc::new(Mutex::new(String::new()));
//! let view = Arc::clone(&seen);
//! let error = runtime
//!     .invoke_transient("leaky", "my card?".to_owned())
//!     .on_delta(move |delta| view.lock().unwrap().push_str(delta.text().unwrap_tainted()))
//!     .await
//!     .unwrap_err();
//! assert_eq!(error.rule(), Some("pii.card"));
//! assert_eq!(*seen.lock().unwrap(), "Your card: 4111 1111 ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Limits
//! What was delivered before a match completed is delivered. Text is matched as it stands: full-width digits,
//! zero-width characters and look-alike letters are not folded. A value split over two calls, lanes or strings is
//! not seen, nor are encodings and paraphrase; JSON escapes are undone in tool-call arguments only. The text of an
//! attempt and lane, and each text of an output, is at most [`GUARD_TEXT_BYTES_MAX`] long.

mod ascii;
mod decimal;
mod delta;
mod deny;
mod middleware;
mod pii;
mod redact;
#[doc(hidden)]
pub mod reference;
mod rule;
mod unescape;
mod validator;
mod window;

pub use delta::{DeltaCheck, DeltaJudge, GUARD_TEXT_BYTES_MAX, INPUT_TEXT_BYTES_MAX};
pub use deny::{DenyPattern, DenyPatternError, DenyPatternFault, DenyPatternPosition, DenyPatterns};
pub use middleware::SafetyMiddleware;
pub use pii::PiiRule;
pub use redact::{
    Detector, MemoryVault, Placeholder, Redaction, RedactionError, Revealing, Secret, SecretRef, SecretVault,
    VaultError,
};
pub use rule::{Finding, Place, RuleId};
pub use validator::{Judges, Phase, PiiValidator, SafetyValidator};
pub use window::{DeltaWindow, WindowCheck, delta_window};

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
