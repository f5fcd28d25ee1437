//! The oracle of the detectors' tests: the whole text, every (start, end) pair, one obvious question a pair. Slow
//! on purpose.
//!
//! It shares no code and no table with the detectors: a mistake would have to be made twice, in two ways, to go
//! unseen.

/// A rule, by its stable id, as a question about one slice.
type Shape = fn(&str) -> bool;

const RULES: [(&str, Shape); 4] =
    [("pii.card", is_card), ("pii.email", is_email), ("pii.ssn", is_ssn), ("pii.iban", is_iban)];

/// Every (start, end) in bytes at which `rule` matches in `text`, in no useful order. An unknown rule matches
/// nowhere.
#[must_use]
pub fn matches(rule: &str, text: &str) -> Vec<(usize, usize)> {
    let Some((_, shape)) = RULES.iter().find(|(id, _)| *id == rule) else { return Vec::new() };
    let places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let edges: Vec<usize> = places.filter(|at| boundary(text, *at)).collect();
    let pairs = edges.iter().flat_map(|start| edges.iter().map(move |end| (*start, *end)));
    pairs.filter(|(start, end)| start < end && text.get(*start..*end).is_some_and(shape)).collect()
}

/// The earliest end of a match of `rule` in `text`, with the leftmost start that has it.
#[must_use]
pub fn earliest(rule: &str, text: &str) -> Option<(usize, usize)> {
    matches(rule, text).into_iter().min_by_key(|(start, end)| (*end, *start))
}

/// ASCII `\b`: one side is `[A-Za-z0-9_]`, the other is not.
fn boundary(text: &str, at: usize) -> bool {
    let word = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric() || char == '_');
    let (before, after) = (text.get(..at).unwrap_or(""), text.get(at..).unwrap_or(""));
    word(before.chars().next_back()) != word(after.chars().next())
}

fn is_card(slice: &str) -> bool {
    let chars: Vec<char> = slice.chars().collect();
    let digits: String = chars.iter().filter(|char| char.is_ascii_digit()).collect();
    let only = chars.iter().all(|char| char.is_ascii_digit() || *char == ' ' || *char == '-');
    let edges = slice.starts_with(|char: char| char.is_ascii_digit())
        && slice.ends_with(|char: char| char.is_ascii_digit());
    let single = !chars.windows(2).any(|pair| pair.iter().all(|char| !char.is_ascii_digit()));
    let repeated = digits.chars().all(|digit| digits.starts_with(digit));
    only && edges
        && single
        && !repeated
        && (13..=19).contains(&digits.len())
        && issued(&digits)
        && luhn(&digits)
}

/// The issuers by how a person would look them up: by prefix, then by length.
fn issued(digits: &str) -> bool {
    let starts = |prefixes: &str| prefixes.split(' ').any(|prefix| digits.starts_with(prefix));
    let head = |places: usize| digits.get(..places).and_then(|head| head.parse::<u32>().ok()).unwrap_or(0);
    match digits.len() {
        13 if starts("4") => true,
        15 if starts("34 37 1800 2131") => true,
        16 if starts("4 51 52 53 54 55 9792") || (2221..=2720).contains(&head(4)) => true,
        19 if starts("4") => true,
        _ => {
            let maestro = starts("50 56 57 58 6304 67");
            let diners = digits.len() >= 14 && starts("300 301 302 303 304 305 3095 36 38 39");
            let long = digits.len() >= 16
                && (starts("2200 2201 2202 2203 2204 60 62 644 645 646 647 648 649 65 81 82")
                    || (3528..=3589).contains(&head(4)));
            maestro || diners || long
        }
    }
}

fn luhn(digits: &str) -> bool {
    let mut total = 0;
    for (place, digit) in digits.chars().rev().filter_map(|char| char.to_digit(10)).enumerate() {
        let doubled = if place % 2 == 1 { digit * 2 } else { digit };
        total += doubled / 10 + doubled % 10;
    }
    total % 10 == 0
}

fn is_email(slice: &str) -> bool {
    let parts: Vec<&str> = slice.split('@').collect();
    let [local, domain] = parts.as_slice() else { return false };
    let labels: Vec<&str> = domain.split('.').collect();
    let label = |label: &&str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|char| char.is_ascii_alphanumeric() || char == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let top = labels.last().copied().unwrap_or("");
    let lower = top.to_ascii_lowercase();
    let named = top.len() >= 2 && top.chars().all(|char| char.is_ascii_alphabetic())
        || lower.starts_with("xn--") && lower != "xn--";
    (1..=64).contains(&local.len())
        && local.starts_with(|char: char| char.is_ascii_alphanumeric() || char == '_')
        && local.chars().all(|char| char.is_ascii_graphic() && !"\"(),:;<>@[\\]".contains(char))
        && domain.len() <= 253
        && labels.len() >= 2
        && labels.iter().all(label)
        && named
}

fn is_ssn(slice: &str) -> bool {
    let parts: Vec<&str> = slice.split('-').collect();
    let [area, group, serial] = parts.as_slice() else { return false };
    let digits =
        |part: &str, places: usize| part.len() == places && part.chars().all(|char| char.is_ascii_digit());
    digits(area, 3)
        && digits(group, 2)
        && digits(serial, 4)
        && !area.starts_with('9')
        && *area != "000"
        && *area != "666"
        && *group != "00"
        && *serial != "0000"
        && slice != "078-05-1120"
        && slice != "219-09-9999"
}

/// Each country of the registry with the length of its numbers.
const IBAN_LENGTHS: &str = "\
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 \
    DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 \
    IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 \
    MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 \
    SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30";

fn is_iban(slice: &str) -> bool {
    let compact: String = slice.to_ascii_uppercase().replace(' ', "");
    let (Some(country), Some(check), Some(account)) = (compact.get(..2), compact.get(2..4), compact.get(4..))
    else {
        return false;
    };
    let entry = IBAN_LENGTHS.split(' ').find(|entry| entry.starts_with(country));
    let length = entry.and_then(|entry| entry.get(2..)).and_then(|length| length.parse().ok()).unwrap_or(0);
    let head_together = slice.get(..4).is_some_and(|head| !head.contains(' '));
    head_together
        && !slice.contains("  ")
        && !slice.ends_with(' ')
        && compact.len() == length
        && check.chars().all(|char| char.is_ascii_digit())
        && compact.chars().all(|char| char.is_ascii_alphanumeric())
        && mod97(&format!("{account}{country}{check}")) == 1
}

/// The number that the letters and digits spell, by long division.
fn mod97(text: &str) -> u32 {
    let spelled: String =
        text.chars().filter_map(|char| char.to_digit(36)).map(|value| value.to_string()).collect();
    spelled.chars().filter_map(|char| char.to_digit(10)).fold(0, |rest, digit| (rest * 10 + digit) % 97)
}
