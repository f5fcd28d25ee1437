//! E-mail addresses.

use std::ops::Range;

use crate::ascii::{is_word, word_at, word_before};

/// RFC 5321 §4.5.3.1.1.
const LOCAL_BYTES_MAX: usize = 64;
/// RFC 1035 §2.3.4, as text without the root's dot.
const DOMAIN_BYTES_MAX: usize = 253;
/// RFC 1035 §2.3.4.
const LABEL_BYTES_MAX: usize = 63;

/// The address that ends first after `from`. Every `@` is judged, so none can hide another.
pub(super) fn earliest(text: &[u8], from: usize) -> Option<Range<usize>> {
    let mut best: Option<Range<usize>> = None;
    let first = from.saturating_sub(DOMAIN_BYTES_MAX + 1);
    for (at, _) in text.iter().enumerate().skip(first).filter(|(_, byte)| **byte == b'@') {
        if best.as_ref().is_some_and(|best| at >= best.end) {
            break;
        }
        if let (Some(start), Some(end)) = (local_start(text, at), domain_end(text, at + 1, from))
            && best.as_ref().is_none_or(|best| end < best.end)
        {
            best = Some(start..end);
        }
    }
    best
}

/// Shows what the addresses around each `@` cover: all of them hold it, so that is one stretch.
pub(super) fn cover(text: &[u8], found: &mut impl FnMut(Range<usize>)) {
    for (at, _) in text.iter().enumerate().filter(|(_, byte)| **byte == b'@') {
        let end = super::last_end(at, |from| domain_end(text, at + 1, from));
        if let (Some(start), Some(end)) = (local_start(text, at), end) {
            found(start..end);
        }
    }
}

/// The leftmost place where the local part before the `@` at `at` can start: a word byte after none, within the
/// bound.
fn local_start(text: &[u8], at: usize) -> Option<usize> {
    let run = (at.saturating_sub(LOCAL_BYTES_MAX)..at)
        .rev()
        .take_while(|place| text.get(*place).copied().is_some_and(is_local));
    run.filter(|place| word_at(text, *place) && !word_before(text, *place)).last()
}

/// The first place after `from` where a domain that starts at `start` can end.
fn domain_end(text: &[u8], start: usize, from: usize) -> Option<usize> {
    let (mut label, mut labels_before, mut at) = (start, 0, start);
    while at - start < DOMAIN_BYTES_MAX {
        let hyphen_before = at.checked_sub(1).and_then(|before| text.get(before)) == Some(&b'-');
        let room = at - label < LABEL_BYTES_MAX;
        match text.get(at)? {
            byte if room && byte.is_ascii_alphanumeric() => {
                at += 1;
                if labels_before > 0
                    && at > from
                    && !word_at(text, at)
                    && text.get(label..at).is_some_and(is_top_label)
                {
                    return Some(at);
                }
            }
            b'-' if room && at > label => at += 1,
            b'.' if at > label && !hyphen_before => {
                at += 1;
                labels_before += 1;
                label = at;
            }
            _ => return None,
        }
    }
    None
}

/// `atext` of RFC 5322 and the dot. Dots at the edges are let through: a guard had rather see one address too many.
fn is_local(byte: u8) -> bool {
    is_word(byte) || b".!#$%&'*+-/=?^`{|}~".contains(&byte)
}

/// At least two letters, or a punycode label.
fn is_top_label(label: &[u8]) -> bool {
    let letters = label.len() >= 2 && label.iter().all(u8::is_ascii_alphabetic);
    letters
        || (label.len() > 4
            && label.first_chunk::<4>().is_some_and(|head| head.eq_ignore_ascii_case(b"xn--")))
}

#[cfg(test)]
mod tests {
    use crate::PiiRule;

    fn found(text: &str) -> Option<&str> {
        PiiRule::Email.earliest(text, 0).map(|finding| &text[finding.range])
    }

    #[test]
    fn addresses_are_found_where_they_stand() {
        for (text, address) in [
            ("write to jane.doe+tag@example.com now", "jane.doe+tag@example.com"),
            ("联系alice@example.com。", "alice@example.com"),
            ("<a_b@sub.example.co.uk>", "a_b@sub.example.co"),
            ("x@y@example.org", "y@example.org"),
            ("o'neil@xn--bcher-kva.xn--p1ai", "o'neil@xn--bcher-kva.xn--p1ai"),
            ("mailto:a@b-c.de?subject=x", "a@b-c.de"),
        ] {
            let found = found(text).unwrap_or_default();
            assert!(found == address || address.starts_with(found) && !found.is_empty(), "{text}: {found}");
        }
    }

    #[test]
    fn look_alikes_are_not_addresses() {
        for text in [
            "a@b",
            "@example.com",
            "a@.com",
            "a@-b.com",
            "a@b-.com",
            "a@b.c",
            "a@b..com",
            "a@1.2.3.4",
            "user @example.com",
            "a@b.com_",
            "a@b.c0m",
            "++@b.com",
            &format!("{}@example.com", "a".repeat(65)),
            &format!("a@{}.com", "b".repeat(64)),
            &format!("a@b.{}", "c".repeat(64)),
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn the_bounds_are_inclusive() {
        let text = format!("{}@{}.com", "a".repeat(64), "b".repeat(63));
        assert_eq!(found(&text), Some(text.as_str()));
    }
}
