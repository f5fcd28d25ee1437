//! The detectors against the brute-force oracle, on generated text that does match as well as on near-misses.

mod generate;

use loom_safety::{DeltaCheck, Phase, PiiRule, PiiValidator, SafetyValidator, reference};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

fn range(rule: PiiRule, text: &str, from: usize) -> Option<(usize, usize)> {
    rule.earliest(text, from).map(|finding| (finding.range.start, finding.range.end))
}

fn boundaries(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

/// Where `text` is cut into deltas, from a list of wished lengths.
fn cut<'a>(text: &'a str, lengths: &[usize]) -> Vec<&'a str> {
    let mut rest = text;
    let mut deltas = Vec::new();
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (delta, after) = rest.split_at(rest.ceil_char_boundary((*length).min(rest.len())));
        deltas.push(delta);
        rest = after;
    }
    deltas
}

/// Whether detector and oracle agree on `value` as a whole.
fn agree(rule: PiiRule, value: &str) -> bool {
    let whole = (0, value.len());
    let expected = reference::matches(rule.id().as_str(), value).contains(&whole);
    expected == (range(rule, value, value.len() - 1) == Some(whole))
}

#[test]
fn detector_and_oracle_know_the_same_issuers_and_countries() {
    for prefix in 1000..10_000 {
        for length in 13..=19 {
            let value = generate::with_luhn(&format!("{prefix}{}", "0".repeat(length - 5)));
            assert!(agree(PiiRule::Card, &value), "{value}");
        }
    }
    for pair in 0..26 * 26 {
        let letter = |at: u8| char::from(b'A' + at);
        let country: String = [letter((pair / 26) as u8), letter((pair % 26) as u8)].into_iter().collect();
        for length in 14..=34 {
            let value = generate::with_check_digits(&country, &"7".repeat(length - 4));
            assert!(agree(PiiRule::Iban, &value), "{value}");
        }
    }
}

#[test]
fn the_generators_emit_text_that_matches() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for rule in PiiRule::ALL {
        let mut matching = 0;
        for _ in 0..400 {
            let text = generate::text().new_tree(&mut runner).unwrap().current();
            matching += usize::from(reference::earliest(rule.id().as_str(), &text).is_some());
        }
        assert!(matching >= 20, "{}: {matching} of 400 texts match", rule.id());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// D10: the detectors find what the oracle finds, at the same place, in every prefix of a text.
    #[test]
    fn a_detector_equals_the_oracle_at_every_prefix(text in generate::text()) {
        for rule in PiiRule::ALL {
            for end in boundaries(&text) {
                let prefix = &text[..end];
                prop_assert_eq!(range(rule, prefix, 0), reference::earliest(rule.id().as_str(), prefix), "{} in {:?}", rule.id(), prefix);
            }
        }
    }

    /// D17: looking only at ends in the new text, as far back as the widest match, misses nothing, however the text
    /// is split.
    #[test]
    fn a_detector_asked_at_each_delta_finds_the_first_match_of_the_growing_text(
        text in generate::text(), lengths in prop::collection::vec(1..9_usize, 1..6),
    ) {
        for rule in PiiRule::ALL {
            let mut end = 0;
            for delta in cut(&text, &lengths) {
                let from = end;
                end += delta.len();
                let expected = reference::earliest(rule.id().as_str(), &text[..end]);
                prop_assert_eq!(range(rule, &text[..end], from), expected, "{} in {:?}", rule.id(), &text[..end]);
                if expected.is_some() { break; }
            }
        }
    }

    /// D10: what the output form refuses, the delta form has severed, whatever the split; what it severs, some
    /// prefix of the text holds.
    #[test]
    fn the_output_form_never_refuses_what_the_delta_form_passed(
        text in generate::text(), lengths in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let pii = PiiValidator::default();
        let mut judge = pii.judge();
        let mut end = 0;
        let mut severed = None;
        for delta in cut(&text, &lengths) {
            end += delta.len();
            severed = judge.push(delta).err();
            if severed.is_some() { break; }
        }
        if pii.check(Phase::Output, &text).is_err() {
            prop_assert!(severed.is_some(), "passed {:?}", text);
        }
        if severed.is_some() {
            prop_assert!(pii.check(Phase::Output, &text[..end]).is_err(), "no match in {:?}", &text[..end]);
        }
    }
}
