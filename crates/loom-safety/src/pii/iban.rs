//! International bank account numbers.

use crate::ascii::{word_at, word_before};

/// 34 characters, a space between each two after the fourth.
pub(super) const WIDTH_BYTES_MAX: usize = LENGTH_MAX + LENGTH_MAX - HEAD;

const LENGTH_MAX: usize = 34;
/// Country code and check digits, which stand together in every written form.
const HEAD: usize = 4;

/// The end of an IBAN that starts at `start`, if after `from`. Its length is its country's, so a start has one end
/// at most.
pub(super) fn first_end(text: &[u8], start: usize, from: usize) -> Option<usize> {
    if word_before(text, start) {
        return None;
    }
    let head = text.get(start..start + HEAD)?.first_chunk::<HEAD>()?.map(|byte| byte.to_ascii_uppercase());
    let [c1, c2, d1, d2] = head;
    let length = length_of([c1, c2]).filter(|_| d1.is_ascii_digit() && d2.is_ascii_digit())?;
    let mut remainder = 0;
    let mut at = start + HEAD;
    for _ in HEAD..length {
        if text.get(at) == Some(&b' ') {
            at += 1;
        }
        remainder = mod97(remainder, *text.get(at)?)?;
        at += 1;
    }
    for byte in head {
        remainder = mod97(remainder, byte)?;
    }
    (at > from && !word_at(text, at) && remainder == 1).then_some(at)
}

/// The length of a country's numbers. Source: SWIFT IBAN Registry, release 99 (ISO 13616).
fn length_of(country: [u8; 2]) -> Option<usize> {
    Some(match &country {
        b"NO" => 15,
        b"BE" => 16,
        b"DK" | b"FI" | b"FK" | b"FO" | b"GL" | b"NL" | b"SD" => 18,
        b"MK" | b"SI" => 19,
        b"AT" | b"BA" | b"EE" | b"KZ" | b"LT" | b"LU" | b"MN" | b"XK" => 20,
        b"CH" | b"HR" | b"LI" | b"LV" => 21,
        b"BG" | b"BH" | b"CR" | b"DE" | b"GB" | b"GE" | b"IE" | b"ME" | b"RS" | b"VA" => 22,
        b"AE" | b"GI" | b"IL" | b"IQ" | b"OM" | b"SO" | b"TL" => 23,
        b"AD" | b"CZ" | b"ES" | b"MD" | b"PK" | b"RO" | b"SA" | b"SE" | b"SK" | b"TN" | b"VG" => 24,
        b"LY" | b"PT" | b"ST" => 25,
        b"IS" | b"TR" => 26,
        b"BI" | b"DJ" | b"FR" | b"GR" | b"IT" | b"MC" | b"MR" | b"SM" => 27,
        b"AL" | b"AZ" | b"BY" | b"CY" | b"DO" | b"GT" | b"HN" | b"HU" | b"LB" | b"NI" | b"PL" | b"SV" => 28,
        b"BR" | b"EG" | b"PS" | b"QA" | b"UA" => 29,
        b"JO" | b"KW" | b"MU" | b"YE" => 30,
        b"MT" | b"SC" => 31,
        b"LC" => 32,
        b"RU" => 33,
        _ => return None,
    })
}

/// ISO 7064 MOD 97-10, a character at a time; a letter counts as two digits, A = 10.
fn mod97(remainder: u32, byte: u8) -> Option<u32> {
    match byte {
        b'0'..=b'9' => Some((remainder * 10 + u32::from(byte - b'0')) % 97),
        b'A'..=b'Z' | b'a'..=b'z' => {
            Some((remainder * 100 + u32::from(byte.to_ascii_uppercase() - b'A') + 10) % 97)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::PiiRule;

    fn found(text: &str) -> Option<&str> {
        PiiRule::Iban.earliest(text, 0).map(|finding| &text[finding.range])
    }

    #[test]
    fn registry_examples_are_found_compact_spaced_and_in_lower_case() {
        // Source: examples of the SWIFT IBAN Registry.
        for iban in "DE89370400440532013000|GB29 NWBK 6016 1331 9268 19|gb29nwbk60161331926819|\
            FR1420041010050500013M02606|NO9386011117947|MT84MALT011000012345MTLCAST001S|\
            Nl91 aBnA 0417 1643 00"
            .split('|')
        {
            assert_eq!(found(&format!("to {iban}, please")), Some(iban), "{iban}");
        }
    }

    #[test]
    fn wrong_length_check_digits_country_or_spacing_is_not_an_iban() {
        for text in "DE89370400440532013001|DE8937040044053201300|DE893704004405320130000|\
            ZZ89370400440532013000|DE89  3704 0044 0532 0130 00|D E89370400440532013000|\
            xDE89370400440532013000"
            .split('|')
        {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_failed_head_before_an_iban_does_not_hide_it() {
        assert_eq!(found("AT12 DE89 3704 0044 0532 0130 00"), Some("DE89 3704 0044 0532 0130 00"));
    }
}
