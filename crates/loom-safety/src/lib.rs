//! Validators for personal data and denied patterns that guard input, output and live text.

#![warn(missing_docs)]

mod ascii;
mod decimal;
mod delta;
mod deny;
mod middleware;
mod pii;
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
pub use rule::{Finding, Place, RuleId};
pub use validator::{Judges, Phase, PiiValidator, SafetyValidator};
pub use window::{DeltaWindow, WindowCheck, delta_window};
