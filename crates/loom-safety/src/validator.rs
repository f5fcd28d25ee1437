//! What a safety validator is, and the shipped one for personal data.

use crate::delta::{
    DeltaCheck, DeltaJudge, GUARD_TEXT_BYTES_MAX, INPUT_TEXT_BYTES_MAX, RunningText, judge_whole,
};
use crate::pii::{PiiRule, PiiRules};
use crate::redact::Detector;
use crate::rule::{Finding, RuleId};

/// What a whole text is, when a validator is asked about it. The third phase, delta, has state and so a form of its
/// own: [`SafetyValidator::delta`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A text of the call's input.
    Input,
    /// A text of the effect's output.
    Output,
}

/// Which phases a validator judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Judges {
    /// Input and output.
    #[default]
    Both,
    /// Input only: streams are not its concern.
    InputOnly,
    /// Output only, and the live text that becomes it.
    OutputOnly,
}

impl Judges {
    /// Whether `phase` is judged.
    #[must_use]
    pub const fn covers(self, phase: Phase) -> bool {
        !matches!((self, phase), (Self::InputOnly, Phase::Output) | (Self::OutputOnly, Phase::Input))
    }
}

/// Judges texts of a call: input, output and, through its delta form, live text.
///
/// # Contract
/// - [`check`](Self::check) is a function of its arguments: the same text gets the same verdict.
/// - A validator that judges output **and** offers no [`delta`](Self::delta) form blinds the streams of every
///   call it guards: the runtime then refuses both sinks, warns once a call, and the call completes non-streamed.
///   The default is that, so forgetting it leaks nothing.
/// - A delta form refuses whatever the output form refuses (see [`DeltaCheck`]).
///
/// # Panics
/// A panic in a validator refuses the call.
pub trait SafetyValidator: Send + Sync + 'static {
    /// The validator's name in warnings and refusals.
    fn name(&self) -> &str;

    /// Judges one whole text: a string, an object key, or an integer in decimal.
    ///
    /// # Errors
    /// The finding that refuses the call.
    fn check(&self, phase: Phase, text: &str) -> Result<(), Finding>;

    /// Which phases [`check`](Self::check) is asked in.
    fn judges(&self) -> Judges {
        Judges::Both
    }

    /// The delta form of the output phase, if there is one. Asked once, when the middleware is made.
    fn delta(&self) -> Option<&dyn DeltaCheck> {
        None
    }
}

/// Refuses texts that hold personal data. `PiiValidator::default()` looks for every [`PiiRule`] in input, output
/// and live text.
///
/// ```
/// use loom_safety::{Phase, PiiValidator, SafetyValidator};
///
/// let pii = PiiValidator::default();
/// assert!(pii.check(Phase::Output, "call 4111-1111-1111 any time").is_ok());
/// let finding = pii.check(Phase::Output, "card 4111-1111-1111-1111").unwrap_err();
/// assert_eq!(finding.rule.as_str(), "pii.card");
/// ```
#[derive(Clone, Debug)]
pub struct PiiValidator {
    rules: PiiRules,
    judges: Judges,
}

impl PiiValidator {
    /// Looks for these rules only.
    #[must_use]
    pub fn of(rules: &[PiiRule]) -> Self {
        Self { rules: PiiRules::of(rules), judges: Judges::Both }
    }

    /// Judges these phases only.
    #[must_use]
    pub const fn judging(mut self, judges: Judges) -> Self {
        self.judges = judges;
        self
    }
}

impl Default for PiiValidator {
    fn default() -> Self {
        Self { rules: PiiRules::ALL, judges: Judges::Both }
    }
}

impl SafetyValidator for PiiValidator {
    fn name(&self) -> &str {
        "pii"
    }

    fn check(&self, phase: Phase, text: &str) -> Result<(), Finding> {
        judge_whole(&self.rules, text, phase.text_bytes_max())
    }

    fn judges(&self) -> Judges {
        self.judges
    }

    fn delta(&self) -> Option<&dyn DeltaCheck> {
        Some(self)
    }
}

impl DeltaCheck for PiiValidator {
    fn judge(&self) -> Box<dyn DeltaJudge> {
        Box::new(RunningText::new(self.rules))
    }
}

/// Which phases the validator judges is no concern of a redaction.
impl Detector for PiiValidator {
    fn rules(&self) -> Vec<RuleId> {
        self.rules.chosen().map(PiiRule::id).collect()
    }

    fn detect(&self, text: &str, found: &mut dyn FnMut(Finding)) {
        self.rules.chosen().for_each(|rule| rule.cover(text, &mut *found));
    }
}

impl Phase {
    /// The bound on one text. Output has the guard's, so that a call gets the same verdict streamed and not.
    pub(crate) const fn text_bytes_max(self) -> usize {
        match self {
            Self::Input => INPUT_TEXT_BYTES_MAX,
            Self::Output => GUARD_TEXT_BYTES_MAX,
        }
    }
}
