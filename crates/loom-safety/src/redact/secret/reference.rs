//! What a reference looks like.

use std::fmt;
use std::ops::Range;

use crate::rule::RuleId;

const OPEN: &str = "[secret:";
const CLOSE: char = ']';
/// Letters of the digest: four bits each.
const DIGEST_CHARS: usize = 32;
const RULE_BYTES_MAX: usize = 96;

/// The id of a value that a [`SecretVault`](crate::SecretVault) keeps: `[secret:<rule>:<32 letters>]`.
///
/// A digest of letters alone cannot be a card, a number or an address. A text of this shape proves nothing: it is a
/// reference where a vault has a value under it, for that very asker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretRef(String);

impl SecretRef {
    /// The longest reference, in bytes.
    pub const BYTES_MAX: usize = OPEN.len() + RULE_BYTES_MAX + 1 + DIGEST_CHARS + 1;

    /// A text as a reference, when all of it has the shape of one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let whole = Self::find(text, 0)? == (0..text.len());
        whole.then(|| Self(text.to_owned()))
    }

    /// The reference as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn new(rule: &RuleId, digest: u128) -> Self {
        let letters = (0..DIGEST_CHARS).map(|place| {
            let nibble = (digest >> (4 * place)) as u8 & 0xf;
            char::from(b'a' + nibble)
        });
        Self(format!("{OPEN}{rule}:{}{CLOSE}", letters.collect::<String>()))
    }

    /// A reference that nobody mints, to look at its characters; `None` for a rule that cannot stand in one.
    pub(in crate::redact) fn sample(rule: &RuleId) -> Option<Self> {
        is_rule(rule.as_str()).then(|| Self::new(rule, 0))
    }

    /// The first text of this shape at or after byte `from`.
    pub(super) fn find(text: &str, from: usize) -> Option<Range<usize>> {
        let mut from = from;
        loop {
            let start = from + text.get(from..)?.find(OPEN)?;
            let body = start + OPEN.len();
            // Bytes, since the bound may cut a character of what is no reference.
            let bytes = text.as_bytes().get(body..)?;
            let close = bytes.iter().take(Self::BYTES_MAX).position(|byte| *byte == CLOSE as u8);
            if let Some(length) = close
                && text.get(body..body + length).is_some_and(is_body)
            {
                return Some(start..body + length + CLOSE.len_utf8());
            }
            from = body;
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_body(body: &str) -> bool {
    body.rsplit_once(':').is_some_and(|(rule, digest)| {
        is_rule(rule)
            && digest.len() == DIGEST_CHARS
            && digest.bytes().all(|byte| matches!(byte, b'a'..=b'p'))
    })
}

fn is_rule(rule: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=RULE_BYTES_MAX).contains(&rule.len()) && rule.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_found_where_it_stands_and_a_look_alike_is_not() {
        let reference = SecretRef::new(&RuleId::new("pii.card"), 0x0123_4567_89ab_cdef);
        let text = format!("é [secret:[secret:x] {reference}{reference} [secret:pii.card:abc]");
        let first = SecretRef::find(&text, 0).unwrap();
        assert_eq!(&text[first.clone()], reference.as_str());
        let second = SecretRef::find(&text, first.end).unwrap();
        assert_eq!(&text[second.clone()], reference.as_str());
        assert_eq!(SecretRef::find(&text, second.end), None);
        assert_eq!(SecretRef::parse(reference.as_str()), Some(reference.clone()));
        assert_eq!(SecretRef::parse(&format!("{reference} ")), None);
    }

    #[test]
    fn a_rule_with_other_characters_has_no_reference() {
        for rule in ["", "a b", "a:b", "a]", &"r".repeat(RULE_BYTES_MAX + 1)] {
            assert_eq!(SecretRef::sample(&RuleId::owned(rule.to_owned())), None, "{rule}");
        }
        let longest = SecretRef::sample(&RuleId::owned("r".repeat(RULE_BYTES_MAX))).unwrap();
        assert_eq!(longest.as_str().len(), SecretRef::BYTES_MAX);
        assert_eq!(SecretRef::parse(longest.as_str()), Some(longest));
    }
}
