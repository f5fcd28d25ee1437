//! The word, its mask, and the transducer that puts one in the place of the other.

use std::sync::Arc;

/// The longest word that can be redacted, in bytes: what a stream holds back is shorter.
pub const SECRET_BYTES_MAX: usize = 256;

/// A word or mask that cannot be redacted soundly.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// The word is empty or too long.
    #[error("the word has {bytes} bytes: expected 1 to {SECRET_BYTES_MAX}")]
    SecretLength {
        /// How long it is.
        bytes: usize,
    },
    /// The mask is empty, or could spell the word together with the text beside it.
    #[error("the mask is empty or shares a character with the word")]
    Mask,
}

pub(crate) struct Rule {
    secret: Box<str>,
    mask: Box<str>,
}

impl Rule {
    pub(crate) fn new(secret: &str, mask: &str) -> Result<Self, InvalidRule> {
        if !(1..=SECRET_BYTES_MAX).contains(&secret.len()) {
            return Err(InvalidRule::SecretLength { bytes: secret.len() });
        }
        if mask.is_empty() || mask.contains(|character| secret.contains(character)) {
            return Err(InvalidRule::Mask);
        }
        Ok(Self { secret: secret.into(), mask: mask.into() })
    }

    /// The whole text redacted: one push and the finish of the transducer that the live text runs through.
    pub(crate) fn redact(self: &Arc<Self>, text: &str) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut transducer = Transducer::new(Arc::clone(self));
        transducer.push(text, &mut |piece| redacted.push_str(piece));
        transducer.finish(&mut |piece| redacted.push_str(piece));
        redacted
    }
}

/// Redacts a text that comes in pieces.
pub(crate) struct Transducer {
    rule: Arc<Rule>,
    /// The longest end of what came that begins the word.
    held: String,
}

impl Transducer {
    pub(crate) fn new(rule: Arc<Rule>) -> Self {
        Self { rule, held: String::new() }
    }

    pub(crate) fn push(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        self.held.push_str(text);
        let mut rest = self.held.as_str();
        while let Some((before, behind)) = rest.split_once(&*self.rule.secret) {
            emit(before, out);
            out(&self.rule.mask);
            rest = behind;
        }
        let settled = rest.len() - open_bytes(rest, &self.rule.secret);
        emit(rest.get(..settled).unwrap_or_default(), out);
        let settled = self.held.len() - rest.len() + settled;
        self.held.drain(..settled);
    }

    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(&str)) {
        emit(&std::mem::take(&mut self.held), out);
    }
}

fn emit(text: &str, out: &mut dyn FnMut(&str)) {
    if !text.is_empty() {
        out(text);
    }
}

/// How many bytes at the end of `text` begin `secret` without being all of it.
fn open_bytes(text: &str, secret: &str) -> usize {
    let beginnings = secret.char_indices().map(|(at, _)| at).rev();
    beginnings.filter_map(|at| secret.get(..at)).find(|head| text.ends_with(head)).map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redact_pieces(rule: &Arc<Rule>, pieces: &[String]) -> String {
        let mut transducer = Transducer::new(Arc::clone(rule));
        let mut redacted = String::new();
        for piece in pieces {
            transducer.push(piece, &mut |text| redacted.push_str(text));
        }
        transducer.finish(&mut |text| redacted.push_str(text));
        redacted
    }

    proptest! {
        /// What comes out does not depend on the split, is what `str::replace` gives, and never spells the word.
        #[test]
        fn every_split_gives_the_replaced_text(
            secret in "[aäb]{1,4}", pieces in proptest::collection::vec("[aäbc]{0,6}", 0..8),
        ) {
            let rule = Arc::new(Rule::new(&secret, "*").unwrap());
            let whole = pieces.concat();
            let redacted = redact_pieces(&rule, &pieces);
            prop_assert_eq!(&redacted, &whole.replace(&secret, "*"));
            prop_assert_eq!(&redacted, &rule.redact(&whole));
            prop_assert!(!redacted.contains(&secret));
        }

        /// What is held back is always shorter than the word.
        #[test]
        fn less_than_the_word_is_held(
            secret in "[ab]{1,6}", pieces in proptest::collection::vec("[ab]{0,6}", 0..8),
        ) {
            let mut transducer = Transducer::new(Arc::new(Rule::new(&secret, "*").unwrap()));
            for piece in &pieces {
                transducer.push(piece, &mut |_| {});
                prop_assert!(transducer.held.len() < secret.len());
            }
        }
    }

    #[test]
    fn a_rule_that_could_spell_the_word_is_refused() {
        assert_eq!(Rule::new("", "*").err(), Some(InvalidRule::SecretLength { bytes: 0 }));
        assert_eq!(Rule::new(&"x".repeat(257), "*").err(), Some(InvalidRule::SecretLength { bytes: 257 }));
        assert_eq!(Rule::new("abc", "").err(), Some(InvalidRule::Mask));
        assert_eq!(Rule::new("abc", "-b-").err(), Some(InvalidRule::Mask));
    }
}
