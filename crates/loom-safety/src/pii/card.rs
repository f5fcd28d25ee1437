//! Payment card numbers.

use crate::ascii::{word_at, word_before};

/// 19 digits with a separator between each two.
pub(super) const WIDTH_BYTES_MAX: usize = DIGITS_MAX + DIGITS_MAX - 1;

const DIGITS_MAX: usize = 19;
const PREFIX_DIGITS: usize = 6;

/// The first end after `from` of a card that starts at `start`.
pub(super) fn first_end(text: &[u8], start: usize, from: usize) -> Option<usize> {
    if word_before(text, start) {
        return None;
    }
    let mut number = Number::default();
    let mut at = start;
    loop {
        let digit = text.get(at).filter(|byte| byte.is_ascii_digit())? - b'0';
        number.push(digit)?;
        at += 1;
        if at > from && !word_at(text, at) && number.is_card() {
            return Some(at);
        }
        if matches!(text.get(at), Some(b' ' | b'-')) {
            at += 1;
        }
    }
}

/// The digits read so far, with the lengths that their issuer uses.
#[derive(Default)]
struct Number {
    digits: [u8; DIGITS_MAX],
    len: usize,
    prefix: u32,
    lengths: Lengths,
}

impl Number {
    /// Adds a digit; `None` once no card can begin so.
    fn push(&mut self, digit: u8) -> Option<()> {
        *self.digits.get_mut(self.len)? = digit;
        self.len += 1;
        if self.len <= PREFIX_DIGITS {
            self.prefix = self.prefix * 10 + u32::from(digit);
        }
        if self.len == PREFIX_DIGITS {
            self.lengths = issuer_lengths(self.prefix)?;
        }
        Some(())
    }

    fn is_card(&self) -> bool {
        let digits = self.digits.get(..self.len).unwrap_or_default();
        self.lengths.contains(self.len) && luhn(digits)
    }
}

/// A set of number lengths, a bit each.
#[derive(Clone, Copy, Default)]
struct Lengths(u32);

impl Lengths {
    const fn only(length: u32) -> Self {
        Self(1 << length)
    }

    const fn between(low: u32, high: u32) -> Self {
        Self((1 << (high + 1)) - (1 << low))
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn contains(self, length: usize) -> bool {
        self.0 >> length & 1 == 1
    }
}

/// Six-digit prefixes (first, last) with the lengths issued under them.
///
/// Source: ISO/IEC 7812 prefixes as the networks publish them, collected in Wikipedia, "Payment card number";
/// 12-digit Maestro numbers are out, since a card here has 13 digits at least.
const ISSUERS: [(u32, u32, Lengths); 22] = [
    (180000, 180099, Lengths::only(15)),        // JCB, old
    (213100, 213199, Lengths::only(15)),        // JCB, old
    (220000, 220499, Lengths::between(16, 19)), // Mir
    (222100, 272099, Lengths::only(16)),        // Mastercard
    (300000, 305999, Lengths::between(14, 19)), // Diners Club
    (309500, 309599, Lengths::between(14, 19)), // Diners Club
    (340000, 349999, Lengths::only(15)),        // American Express
    (352800, 358999, Lengths::between(16, 19)), // JCB
    (360000, 369999, Lengths::between(14, 19)), // Diners Club
    (370000, 379999, Lengths::only(15)),        // American Express
    (380000, 399999, Lengths::between(14, 19)), // Diners Club
    (400000, 499999, Lengths::only(13).and(Lengths::only(16)).and(Lengths::only(19))), // Visa
    (500000, 509999, Lengths::between(13, 19)), // Maestro, RuPay, Verve
    (510000, 559999, Lengths::only(16)),        // Mastercard
    (560000, 589999, Lengths::between(13, 19)), // Maestro
    (600000, 609999, Lengths::between(16, 19)), // Discover, RuPay
    (620000, 629999, Lengths::between(16, 19)), // UnionPay
    (630400, 630499, Lengths::between(13, 19)), // Maestro
    (644000, 659999, Lengths::between(16, 19)), // Discover, RuPay, Troy
    (670000, 679999, Lengths::between(13, 19)), // Maestro
    (810000, 829999, Lengths::between(16, 19)), // UnionPay, RuPay
    (979200, 979299, Lengths::only(16)),        // Troy
];

fn issuer_lengths(prefix: u32) -> Option<Lengths> {
    let found = ISSUERS.iter().find(|(first, last, _)| (*first..=*last).contains(&prefix));
    found.map(|(_, _, lengths)| *lengths)
}

/// The check digit of ISO/IEC 7812-1, annex B.
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use crate::PiiRule;

    fn found(text: &str) -> Option<&str> {
        PiiRule::Card.earliest(text, 0).map(|finding| &text[finding.range])
    }

    #[test]
    fn published_test_numbers_of_every_network_are_found() {
        // Sources: the test-card pages of Stripe, Adyen and PayPal.
        for number in "4111 1111 1111 1111|4242424242424242|5555-5555-5555-4444|2223003122003222|\
            3782 822463 10005|6011 1111 1111 1117|3530111333300000|30569309025904|38520000023237|\
            6205500000000000004|4222222222222"
            .split('|')
        {
            assert_eq!(found(&format!("pay {number}.")), Some(number), "{number}");
        }
    }

    #[test]
    fn look_alikes_are_not_cards() {
        for text in "4111 1111 1111 1112|0000 0000 0000 0000|0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0|1700000000000|\
            4111  1111 1111 1111|x4111111111111111|4111111111111111_|41111111111111110|\
            411111111111111|4111.1111.1111.1111"
            .split('|')
        {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn one_digit_repeated_is_no_card() {
        for digit in 0..10 {
            for length in 13..=19 {
                assert_eq!(found(&digit.to_string().repeat(length)), None, "{length} times {digit}");
            }
        }
    }

    #[test]
    fn digits_before_a_card_do_not_hide_it() {
        assert_eq!(found("2026 4111 1111 1111 1111"), Some("4111 1111 1111 1111"));
        assert_eq!(found("4000 4111-1111-1111-1111 4000"), Some("4111-1111-1111-1111"));
        assert_eq!(found("卡号4111111111111111。"), Some("4111111111111111"));
    }

    #[test]
    fn of_nested_cards_the_one_that_ends_first_is_told() {
        assert_eq!(found("4000-4222222222222-06"), Some("4222222222222"));
    }

    #[test]
    fn a_match_that_ended_before_the_new_text_is_not_told_again() {
        let text = "4111111111111111 and 4242424242424242";
        assert_eq!(PiiRule::Card.earliest(text, 16).map(|finding| finding.range), Some(21..37));
    }
}
