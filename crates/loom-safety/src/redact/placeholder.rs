//! What stands in the place of a match.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use loom_effect_runtime::CallInfo;

use super::detector::Detector;
use super::fault::Fault;
use super::secret::{Mint, SecretRef, SecretVault};
use crate::rule::{Finding, RuleId};

/// Longest fixed placeholder, in bytes.
const TEXT_BYTES_MAX: usize = 64;

/// What a [`Redaction`](crate::Redaction) puts in the place of a match.
#[derive(Default)]
pub struct Placeholder(Kind);

#[derive(Default)]
enum Kind {
    #[default]
    Rule,
    Text(String),
    ByRule(Box<dyn Fn(&RuleId) -> String + Send + Sync>),
    Reference(Arc<dyn SecretVault>),
}

impl Placeholder {
    /// The rule's id in brackets: `[pii.card]`. The default.
    pub const RULE: Self = Self(Kind::Rule);

    /// One text for every match, of 1 to 64 bytes.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self(Kind::Text(text.into()))
    }

    /// A text by rule, of 1 to 64 bytes. Asked once a rule, when the redaction is made.
    #[must_use]
    pub fn by_rule(text: impl Fn(&RuleId) -> String + Send + Sync + 'static) -> Self {
        Self(Kind::ByRule(Box::new(text)))
    }

    /// A [`SecretRef`], under which `vault` keeps the value for those who may have it back.
    #[must_use]
    pub fn reference(vault: Arc<dyn SecretVault>) -> Self {
        Self(Kind::Reference(vault))
    }
}

impl fmt::Debug for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Rule => "Placeholder::RULE",
            Kind::Text(_) => "Placeholder::text(..)",
            Kind::ByRule(_) => "Placeholder::by_rule(..)",
            Kind::Reference(_) => "Placeholder::reference(..)",
        })
    }
}

/// A redaction that was refused when it was made.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedactionError {
    /// A redaction that redacts nothing is a mistake.
    #[error("expected at least one rule, found none")]
    NoRules,
    /// A placeholder is empty or too long.
    #[error("the placeholder of `{rule}` has {bytes} bytes: expected 1 to {max}")]
    PlaceholderLength {
        /// The rule whose placeholder it is.
        rule: RuleId,
        /// Its length.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// A placeholder matches a rule, so that it would be redacted itself.
    #[error("the placeholder of `{rule}` matches rule `{matched}`: choose another")]
    PlaceholderMatches {
        /// The rule whose placeholder it is.
        rule: RuleId,
        /// The rule that it matches.
        matched: RuleId,
    },
    /// A rule's id cannot stand in a reference.
    #[error("rule `{rule}` cannot stand in a reference: expected 1 to 96 characters of `[A-Za-z0-9._-]`")]
    RuleId {
        /// The rule.
        rule: RuleId,
    },
}

/// The placeholders of every rule, each checked.
pub(super) struct Placeholders {
    fixed: BTreeMap<RuleId, String>,
    references: Option<(Mint, Arc<dyn SecretVault>)>,
}

impl Placeholders {
    pub(super) fn new(
        placeholder: Placeholder,
        detectors: &[Box<dyn Detector>],
    ) -> Result<Self, RedactionError> {
        let mut placeholders = Self { fixed: BTreeMap::new(), references: None };
        if let Kind::Reference(vault) = &placeholder.0 {
            placeholders.references = Some((Mint::new(), Arc::clone(vault)));
        }
        for rule in detectors.iter().flat_map(|detector| detector.rules()) {
            let text = match &placeholder.0 {
                Kind::Rule => format!("[{rule}]"),
                Kind::Text(text) => text.clone(),
                Kind::ByRule(text) => text(&rule),
                Kind::Reference(_) => SecretRef::sample(&rule)
                    .ok_or_else(|| RedactionError::RuleId { rule: rule.clone() })?
                    .to_string(),
            };
            let max = if placeholders.references.is_some() { SecretRef::BYTES_MAX } else { TEXT_BYTES_MAX };
            if !(1..=max).contains(&text.len()) {
                return Err(RedactionError::PlaceholderLength { rule, bytes: text.len(), max });
            }
            let mut matched = None;
            for detector in detectors {
                detector.detect(&text, &mut |finding| matched = matched.take().or(Some(finding.rule)));
            }
            if let Some(matched) = matched {
                return Err(RedactionError::PlaceholderMatches { rule, matched });
            }
            placeholders.fixed.insert(rule, text);
        }
        if placeholders.fixed.is_empty() { Err(RedactionError::NoRules) } else { Ok(placeholders) }
    }

    /// What stands for `value`, which `rule` matched in `call`.
    pub(super) fn of(&self, call: &CallInfo, rule: &RuleId, value: &str) -> Result<String, Fault> {
        let fixed = self.fixed.get(rule).ok_or(Fault::UnlistedRule)?;
        Ok(match &self.references {
            Some((mint, _)) => mint.reference(call, rule, value).to_string(),
            None => fixed.clone(),
        })
    }

    /// Puts the values that references stand for into the vault.
    pub(super) fn keep<'a>(
        &self,
        call: &CallInfo,
        mut spans: impl Iterator<Item = (&'a Finding, &'a str)>,
    ) -> Result<(), Fault> {
        let Some((mint, vault)) = &self.references else { return Ok(()) };
        spans.try_for_each(|(span, value)| {
            let reference = mint.reference(call, &span.rule, value);
            vault.put(&reference, value, call.identity()).map_err(Fault::Vault)
        })
    }
}
