//! Text that holds personal data, near-misses of it, and neighbours that try to hide it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code outside a test function")]

use proptest::prelude::*;

/// One to three values or near-misses, each with a neighbour on either side.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let value = prop_oneof![2 => card(), 1 => email(), 1 => ssn(), 2 => iban()];
    let fragment = prop_oneof![6 => value.clone(), 3 => near_miss(value), 1 => "[0-9@. a-zA-Z-]{0,16}"];
    prop::collection::vec((neighbour(), fragment, neighbour()), 1..=2)
        .prop_map(|parts| parts.into_iter().map(|(before, value, after)| before + &value + &after).collect())
}

fn neighbour() -> impl Strategy<Value = String> {
    let open = prop::sample::select(vec!["", " ", ".", "-", "é", "\n"]);
    let hiding = prop::sample::select(vec![
        "_", "x", "1", "@", "2026 ", "4111 ", "AT12 ", " 4", "a@", "0-", "．", "12-", "@b.co",
    ]);
    prop_oneof![open, hiding].prop_map(str::to_owned)
}

/// A value with one character changed, added or taken away.
fn near_miss(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (
        value,
        any::<prop::sample::Index>(),
        prop::sample::select(vec!['0', '7', ' ', '-', 'a', '@', '.', '_', '٣']),
        0..3,
    )
        .prop_map(|(value, index, char, edit)| {
            let mut chars: Vec<char> = value.chars().collect();
            let at = index.index(chars.len());
            match edit {
                0 => chars[at] = char,
                1 => chars.insert(at, char),
                _ => drop(chars.remove(at)),
            }
            chars.into_iter().collect()
        })
}

fn card() -> impl Strategy<Value = String> {
    let issuer = "4:13 4:16 4:19 51:16 2720:16 34:15 6011:16 6011:19 36:14 3095:16 3589:16 1800:15 62:17 6759:13 57:18 82:16";
    let issuer = prop::sample::select(issuer.split(' ').collect::<Vec<_>>());
    (issuer, "[0-9]{19}", "[ -]{18}", 0..3_usize).prop_map(|(issuer, fill, separators, style)| {
        let (prefix, length) = issuer.split_once(':').unwrap();
        let body: String =
            prefix.chars().chain(fill.chars()).take(length.parse::<usize>().unwrap() - 1).collect();
        spaced(&with_luhn(&body), &separators, style)
    })
}

/// A number with its check digit put after it.
pub(crate) fn with_luhn(body: &str) -> String {
    let digits = body.bytes().rev().map(|byte| u32::from(byte - b'0'));
    let sum: u32 = digits
        .enumerate()
        .map(|(at, digit)| if at % 2 == 0 { digit / 5 + digit * 2 % 10 } else { digit })
        .sum();
    format!("{body}{}", (10 - sum % 10) % 10)
}

fn iban() -> impl Strategy<Value = String> {
    let country =
        prop::sample::select("NO15 BE16 DE22 GB22 FR27 MT31 RU33 LC32".split(' ').collect::<Vec<_>>());
    (country, "[0-9A-Z]{30}", 0..3_usize, any::<bool>()).prop_map(|(country, fill, style, lower)| {
        let (country, length) = country.split_at(2);
        let compact = with_check_digits(country, &fill[..length.parse::<usize>().unwrap() - 4]);
        let space = if style == 0 { "" } else { " " };
        let text = format!("{}{space}{}", &compact[..4], spaced(&compact[4..], " ", style));
        if lower { text.to_lowercase() } else { text }
    })
}

/// An account number with its country and check digits put before it.
pub(crate) fn with_check_digits(country: &str, account: &str) -> String {
    let rest = format!("{account}{country}00").chars().fold(0, |rest, char| {
        let value = char.to_digit(36).unwrap();
        (rest * if value > 9 { 100 } else { 10 } + value) % 97
    });
    format!("{country}{:02}{account}", 98 - rest)
}

fn ssn() -> impl Strategy<Value = String> {
    let numbers = (1..900_u32, 1..100_u32, 1..10_000_u32);
    let valid = numbers.prop_map(|(area, group, serial)| format!("{area:03}-{group:02}-{serial:04}"));
    let void = prop::sample::select(vec!["078-05-1120", "219-09-9999", "666-12-3456", "000-12-3456"]);
    prop_oneof![8 => valid, 1 => void.prop_map(str::to_owned)]
}

fn email() -> impl Strategy<Value = String> {
    let top = prop::sample::select(vec!["com", "co.uk", "xn--p1ai", "io", "dev"]);
    ("[a-z0-9_][a-z0-9._%+!-]{0,8}", "[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?", top)
        .prop_map(|(local, label, top)| format!("{local}@{label}.{top}"))
}

/// Compact (0), in groups of four (1), or with a separator between any two (2).
fn spaced(compact: &str, separators: &str, style: usize) -> String {
    let mut separators = separators.chars().cycle();
    let mut text = String::new();
    for (at, char) in compact.chars().enumerate() {
        match style {
            1 if at > 0 && at % 4 == 0 => text.push(' '),
            2 if at > 0 => text.extend(separators.next()),
            _ => {}
        }
        text.push(char);
    }
    text
}
