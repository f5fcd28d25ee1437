//! What is replaced: overlaps, matches that arise, placeholders that are refused, detectors that err.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::panic::panic_any;

use loom_safety::{
    DenyPattern, DenyPatterns, Detector, Finding, Phase, PiiRule, PiiValidator, Placeholder, Redaction,
    RedactionError, RuleId, SafetyValidator,
};
use proptest::prelude::*;

use crate::stage::{CARD, Says, masking, say};

fn deny(patterns: impl IntoIterator<Item = DenyPattern>) -> DenyPatterns {
    DenyPatterns::new(patterns).unwrap()
}

/// What becomes of `text`, live and in the output.
fn redacted(text: &str, detectors: Vec<Box<dyn Detector>>, placeholder: Placeholder) -> String {
    let (output, view) = say(Says::new([text]), Redaction::new(detectors, placeholder).unwrap());
    let output = output.unwrap();
    assert_eq!(view.ever(), output);
    output
}

fn masked(text: &str, patterns: &[&str]) -> String {
    redacted(
        text,
        vec![deny(patterns.iter().map(|pattern| DenyPattern::regex(*pattern))).into()],
        Placeholder::text("[-]"),
    )
}

#[test]
fn a_placeholder_names_its_rule_unless_it_is_told_otherwise() {
    let text = format!("{CARD}, jane@example.com and zephyr");
    let rules = || -> Vec<Box<dyn Detector>> {
        vec![PiiValidator::default().into(), deny([DenyPattern::literal("zephyr").named("codename")]).into()]
    };
    assert_eq!(redacted(&text, rules(), Placeholder::RULE), "[pii.card], [pii.email] and [deny.codename]");
    let by_rule =
        Placeholder::by_rule(|rule| if *rule == PiiRule::Card.id() { "<card>" } else { "<…>" }.to_owned());
    assert_eq!(redacted(&text, rules(), by_rule), "<card>, <…> and <…>");
}

/// D21: overlapping matches of one pattern, of two patterns and of two detectors go together.
#[test]
fn overlapping_matches_are_replaced_together() {
    assert_eq!(masked("xababax", &["aba"]), "x[-]x");
    assert_eq!(masked("xabcdx", &["abc", "bcd"]), "x[-]x");
    assert_eq!(masked("aa bb", &["a+", "b"]), "[-] [-][-]");
    let both: Vec<Box<dyn Detector>> =
        vec![PiiValidator::default().into(), deny([DenyPattern::literal("1111 to zephyr")]).into()];
    assert_eq!(redacted(&format!("{CARD} to zephyr!"), both, Placeholder::text("[x]")), "[x]!");
    assert_eq!(
        redacted("a_b@sub.example.co.uk.", vec![PiiValidator::default().into()], Placeholder::RULE),
        "[pii.email]."
    );
}

/// D21: a match that arises from a placeholder and its neighbours is replaced with them.
#[test]
fn a_match_that_arises_from_a_placeholder_is_replaced_too() {
    assert_eq!(masked("say: a secret b!", &["secret", r"a \[-\] b"]), "say: [-]!");
    assert_eq!(masked("a1b2c", &[r"\d", r"a\[-\]b", r"\[-\]\[-\]c"]), "[-]");
}

/// D21: where replacing does not settle, the whole text goes.
#[test]
fn what_does_not_settle_is_replaced_whole() {
    // The bracket of a placeholder matches beside a letter, wherever the placeholder stands.
    assert_eq!(masked("one azza two", &["zz", r"\b\["]), "[-]");
}

/// A pattern whose matches cost too much to tell apart takes the rest of the text.
#[test]
fn matches_beyond_the_bounds_take_the_rest_of_the_text() {
    let text = "ok ".to_owned() + &"ab ".repeat(100_000);
    assert_eq!(masked(&text, &["b"]), "[-]");
    let dear = masked(&text, &["a(b.*!)?"]);
    assert!(
        dear.starts_with("ok [-]b [-]b ") && dear.ends_with("[-]") && dear.len() < 4_000,
        "{}",
        dear.len()
    );
}

#[test]
fn a_placeholder_that_is_empty_too_long_or_matches_is_refused() {
    let made = |detectors: Vec<Box<dyn Detector>>, placeholder| Redaction::new(detectors, placeholder).err();
    let card =
        || vec![deny([DenyPattern::literal("card").named("word")]).into(), PiiValidator::default().into()];
    let matches = |rule: &'static str, matched: &'static str| {
        Some(RedactionError::PlaceholderMatches { rule: RuleId::new(rule), matched: RuleId::new(matched) })
    };
    assert_eq!(made(card(), Placeholder::RULE), matches("pii.card", "deny.word"));
    assert_eq!(made(card(), Placeholder::text(CARD)), matches("deny.word", "pii.card"));
    assert_eq!(made(card(), Placeholder::text("[x]")), None);
    assert_eq!(made(Vec::new(), Placeholder::RULE), Some(RedactionError::NoRules));
    assert_eq!(made(vec![PiiValidator::of(&[]).into()], Placeholder::RULE), Some(RedactionError::NoRules));
    for (text, bytes) in [(String::new(), 0), ("x".repeat(65), 65)] {
        let rule = PiiRule::Card.id();
        let refused = RedactionError::PlaceholderLength { rule, bytes, max: 64 };
        assert_eq!(made(vec![PiiValidator::default().into()], Placeholder::text(text)), Some(refused));
    }
}

/// A third party's detector, which reports what it is told to.
#[derive(Clone)]
struct Told(Option<(&'static str, std::ops::Range<usize>)>);

impl Detector for Told {
    fn rules(&self) -> Vec<RuleId> {
        vec![RuleId::new("told")]
    }
    fn detect(&self, text: &str, found: &mut dyn FnMut(Finding)) {
        match &self.0 {
            _ if !text.contains("live") => {}
            Some((rule, range)) => found(Finding::new(RuleId::new(rule), range.clone())),
            None => panic_any("detector"),
        }
    }
}

/// D13: a third party's detector is one like any other, and its mistakes let nothing through.
#[test]
fn a_detector_of_a_third_party_redacts_and_its_mistakes_fail_closed() {
    let told = |rule, range| -> Vec<Box<dyn Detector>> { vec![Told(Some((rule, range))).into()] };
    assert_eq!(redacted("é live", told("told", 1..7), Placeholder::RULE), "[told]");
    #[expect(clippy::reversed_empty_ranges, reason = "a detector's mistake")]
    let reversed = 5..2;
    for range in [4..4, reversed, 70..80] {
        assert_eq!(redacted("all of live", told("told", range), Placeholder::RULE), "[told]");
    }
    for (detector, rule) in
        [(Told(Some(("other", 0..4))), "redaction.unlisted-rule"), (Told(None), "redaction.panicked")]
    {
        let (output, view) =
            say(Says::new(["live"]), Redaction::new([detector.into()], Placeholder::RULE).unwrap());
        assert_eq!((output.unwrap_err().rule(), view.ever().as_str()), (Some(rule), ""));
    }
}

/// D23: a pattern's match is what the regular expression prefers; its other alternative is not looked for.
#[test]
fn the_longer_alternative_of_a_pattern_is_not_a_match() {
    assert_eq!(masked("abc", &["a|abc"]), "[-]bc");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// D21: whatever the patterns and their overlaps, nothing matches in what comes out, what stays is a part of the
    /// original that no match touched, and redacting again changes nothing.
    #[test]
    fn nothing_matches_in_what_comes_out(text in "[abcd ]{0,24}", some in prop::sample::subsequence(
        vec!["aba", "ab", "b c", "dd", "a[^b]{1,4}c", r"c \[", r"\]d", r"\[-\]\[-\]", r"\bd\b", "(?:ab)+c"], 1..5,
    )) {
        let out = masked(&text, &some);
        let patterns = deny(some.iter().map(|pattern| DenyPattern::regex(*pattern)));
        prop_assert!(patterns.check(Phase::Output, &out).is_ok(), "{:?} of {:?}", out, text);
        prop_assert_eq!(&masked(&out, &some), &out);
        let kept: String = out.split("[-]").collect();
        prop_assert!(kept.len() <= text.len());
        prop_assert!(patterns.check(Phase::Output, &text).is_err() || out == text);
        let mut rest = text.as_str();
        for piece in out.split("[-]") {
            prop_assert!(rest.contains(piece));
            rest = &rest[rest.find(piece).unwrap() + piece.len()..];
        }
    }
}

/// A redaction shows neither patterns nor values.
#[test]
fn nothing_is_shown_by_debug() {
    let redaction =
        Redaction::new([deny([DenyPattern::literal("zephyr")]).into()], Placeholder::text("[x]")).unwrap();
    let shown = format!("{redaction:?} {:?} {:?}", masking(), Placeholder::text("mask"));
    assert!(!shown.contains("zephyr") && !shown.contains("mask"), "{shown}");
}
