//! Why a text or an output cannot be redacted. Each is a refusal or a sever under the rule that it names.

use loom_effect_runtime::{Refusal, Violation};

use super::secret::VaultError;

/// A redaction that cannot be done; nothing passes then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A text, or what it becomes, is over the bound.
    TextLimit,
    /// A detector reported a rule that it had not named.
    UnlistedRule,
    /// A placeholder matches a rule.
    PlaceholderMatches,
    /// A number matches, and a number's place takes no placeholder.
    Number,
    /// A byte string matches.
    Bytes,
    /// Two keys of one object became the same.
    KeysCollide,
    /// The output with placeholders is no value of its type.
    DoesNotFit,
    /// A text still matches: the output's type does not serialize what it was given.
    Remains,
    /// The output cannot be walked.
    Unreadable,
    /// The vault refused to keep a value.
    Vault(VaultError),
}

impl Fault {
    pub(super) const fn rule(self) -> &'static str {
        match self {
            Self::TextLimit => "text-limit",
            Self::UnlistedRule => "redaction.unlisted-rule",
            Self::PlaceholderMatches => "redaction.placeholder-matches",
            Self::Number => "redaction.number",
            Self::Bytes => "redaction.bytes",
            Self::KeysCollide => "redaction.keys-collide",
            Self::DoesNotFit => "redaction.does-not-fit",
            Self::Remains => "redaction.remains",
            Self::Unreadable => "unreadable",
            Self::Vault(error) => error.rule(),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::safety(fault.rule())
    }
}

impl From<Fault> for Violation {
    fn from(fault: Fault) -> Self {
        Self::safety(fault.rule())
    }
}
