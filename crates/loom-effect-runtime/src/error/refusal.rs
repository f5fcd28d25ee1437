//! A refusal: the answer of a hook, the authorizer or the request guard that stops a call.

use std::borrow::Cow;
use std::fmt;

use crate::names::ErrorName;

/// A refusal with its stable name and the rule behind it. One word wide. It never holds input, output or live text.
///
/// Third parties reuse a name of the registry with a `rule` of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    name: ErrorName,
    rule: Cow<'static, str>,
    missing_grant: Option<String>,
    chain: Vec<String>,
    offset: Option<u64>,
    length: Option<u64>,
}

impl Refusal {
    /// A refusal under `name` by `rule` (an identifier such as `kill_switch`, never text from outside).
    #[cold]
    #[must_use]
    pub fn new(name: ErrorName, rule: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            name,
            rule: rule.into(),
            missing_grant: None,
            chain: Vec::new(),
            offset: None,
            length: None,
        }))
    }

    /// The identity lacks `grant` for the tool.
    #[cold]
    #[must_use]
    pub fn capability_denied(grant: impl Into<String>) -> Self {
        Self::new(ErrorName::CapabilityDenied, "grant").missing_grant(grant)
    }

    /// A budget, rate or ceiling named `rule` is used up.
    #[cold]
    #[must_use]
    pub fn quota(rule: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorName::QuotaExceeded, rule)
    }

    /// A validator's rule refused the content.
    #[cold]
    #[must_use]
    pub fn safety(rule: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorName::SafetyViolation, rule)
    }

    /// Names the grant that was missing, so that a denial explains itself.
    #[must_use]
    pub fn missing_grant(mut self, grant: impl Into<String>) -> Self {
        self.0.missing_grant = Some(grant.into());
        self
    }

    /// Names the principal chain that was walked.
    #[must_use]
    pub fn chain<S: Into<String>>(mut self, chain: impl IntoIterator<Item = S>) -> Self {
        self.0.chain = chain.into_iter().map(Into::into).collect();
        self
    }

    /// Says where in the text the rule matched, in code points of the original text.
    #[must_use]
    pub fn at(mut self, offset: u64, length: u64) -> Self {
        self.0.offset = Some(offset);
        self.0.length = Some(length);
        self
    }

    /// The stable name.
    #[must_use]
    pub fn name(&self) -> ErrorName {
        self.0.name
    }

    /// The rule that refused.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.0.rule
    }

    /// The grant that was missing, when the refusal is a denial that knows it.
    #[must_use]
    pub fn grant(&self) -> Option<&str> {
        self.0.missing_grant.as_deref()
    }

    /// The principal chain that was walked; empty when unknown.
    #[must_use]
    pub fn walked(&self) -> &[String] {
        &self.0.chain
    }

    /// Offset and length of the match in code points of the original text, when the rule judged a text.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        Some((self.0.offset?, self.0.length?))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by rule `{}`", self.0.rule)?;
        if let Some(grant) = &self.0.missing_grant {
            write!(f, ": missing grant `{grant}`")?;
        }
        if !self.0.chain.is_empty() {
            write!(f, " (chain: {})", self.0.chain.join(" → "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
