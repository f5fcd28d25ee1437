//! US social security numbers in their dashed form; nine bare digits are too often something else.

use crate::ascii::{word_at, word_before};

/// `AAA-GG-SSSS`.
pub(super) const WIDTH_BYTES: usize = 11;

/// Numbers that were published and then voided. Source: SSA history page "Social Security cards issued by
/// Woolworth"; the second is from a 1940 pamphlet.
const VOIDED: [(u32, u32, u32); 2] = [(78, 5, 1120), (219, 9, 9999)];

/// The end of a number that starts at `start`, if after `from`.
pub(super) fn first_end(text: &[u8], start: usize, from: usize) -> Option<usize> {
    let end = start + WIDTH_BYTES;
    if end <= from || word_before(text, start) || word_at(text, end) {
        return None;
    }
    let [a1, a2, a3, b'-', g1, g2, b'-', s1, s2, s3, s4] = text.get(start..end)? else { return None };
    let (area, group, serial) =
        (number(&[*a1, *a2, *a3])?, number(&[*g1, *g2])?, number(&[*s1, *s2, *s3, *s4])?);
    let issuable = !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0;
    (issuable && !VOIDED.contains(&(area, group, serial))).then_some(end)
}

fn number(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use crate::PiiRule;

    #[test]
    fn area_group_and_serial_must_be_issuable() {
        let found = |text: &str| PiiRule::Ssn.earliest(text, 0).is_some();
        for text in ["536-22-1234", "899-99-9999.", "ssn:001-01-0001", "1-536-22-1234"] {
            assert!(found(text), "{text}");
        }
        for text in "000-12-3456|666-12-3456|900-12-3456|987-65-4321|536-00-1234|536-22-0000|078-05-1120|\
            219-09-9999|536-22-12345|536221234|536 22 1234|5536-22-1234"
            .split('|')
        {
            assert!(!found(text), "{text}");
        }
    }

    #[test]
    fn a_voided_sample_does_not_suppress_its_neighbours() {
        assert!(PiiRule::Ssn.earliest("078-05-1120 078-05-1121", 0).is_some());
    }
}
