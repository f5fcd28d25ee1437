//! Redaction: what a rule matches in output and live text is replaced, and the stream is kept.

mod detector;
mod engine;
mod fault;
mod held;
mod output;
mod placeholder;
mod secret;
mod spans;

use std::fmt;
use std::sync::Arc;

use loom_effect_runtime::{Call, DeltaForm, Output, OutputMiddleware, Step};

pub use detector::Detector;
pub use placeholder::{Placeholder, RedactionError};
pub use secret::{MemoryVault, Revealing, Secret, SecretRef, SecretVault, VaultError};

use engine::Engine;
use held::HeldForm;
use placeholder::Placeholders;

/// Replaces every match of its rules in output and live text by a placeholder, so that the call goes on.
///
/// # Output
/// Every text of the output and every key that is data, at any depth, what is inside a tainted wrapper included. A
/// match in a number or byte string, whose place takes no placeholder, refuses the call (`redaction.number`,
/// `redaction.bytes`), as does an output that with placeholders is no value of its type (`redaction.does-not-fit`),
/// two keys that become one (`redaction.keys-collide`) and a text that still matches afterwards
/// (`redaction.remains`). Names of struct fields and enum variants are the program's own and stay.
///
/// # Live text
/// The text of a lane is **held whole** until the lane ends well, then redacted by the function that redacts the
/// output, and passed on in one piece: where an effect states its live text as one text, what a sink sees is the
/// output's text, however it was split (spec rows D11, D21). Nothing of a lane is delivered when its attempt fails,
/// is aborted or is run again. At most [`GUARD_TEXT_BYTES_MAX`](crate::GUARD_TEXT_BYTES_MAX) bytes are held a lane;
/// more severs under `text-limit`.
///
/// Text and reasoning are covered. Tool-call arguments are not, so no sink gets them: they are JSON text, in which a
/// match may be spelled with escapes.
///
/// # What is replaced
/// Matches that overlap are replaced together, so that no byte of any stays. In the result nothing matches: a match
/// that arises from a placeholder and what stands beside it widens what is replaced, and where that does not settle
/// the whole text becomes one placeholder. So does a text with more than 65,536 matches.
///
/// A match in two texts of the output, in two lanes or two calls is seen in neither.
///
/// Register it before [`SafetyMiddleware`](crate::SafetyMiddleware): what runs first sees what the effect gave.
///
/// ```
/// use loom_safety::{DenyPattern, DenyPatterns, PiiValidator, Placeholder, Redaction};
///
/// let deny = DenyPatterns::new([DenyPattern::literal("zephyr").word_bounded().named("codename")])?;
/// let redaction = Redaction::new([PiiValidator::default().into(), deny.into()], Placeholder::RULE)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Redaction {
    engine: Arc<Engine>,
    form: Arc<HeldForm>,
}

impl Redaction {
    /// A redaction of what these detectors find.
    ///
    /// # Errors
    /// [`RedactionError`], when there is no rule at all, or a placeholder is empty, too long, or matches a rule.
    pub fn new(
        detectors: impl IntoIterator<Item = Box<dyn Detector>>,
        placeholder: Placeholder,
    ) -> Result<Self, RedactionError> {
        let detectors: Vec<Box<dyn Detector>> = detectors.into_iter().collect();
        let placeholders = Placeholders::new(placeholder, &detectors)?;
        let engine = Arc::new(Engine { detectors, placeholders });
        Ok(Self { form: Arc::new(HeldForm(Arc::clone(&engine))), engine })
    }
}

impl OutputMiddleware for Redaction {
    fn name(&self) -> &str {
        "redaction"
    }

    fn inspect(&self, call: &Call, output: &mut Output) -> Step {
        match output::redact(&self.engine, call, output) {
            Ok(()) => Step::Go,
            Err(fault) => Step::Deny(fault.into()),
        }
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(&*self.form)
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction").field("detectors", &self.engine.detectors.len()).finish_non_exhaustive()
    }
}
