//! The detectors on labelled sentences, where they are present: recall on what is valid by the rules, and what is
//! flagged beyond the labels.

use std::collections::BTreeMap;
use std::path::PathBuf;

use loom_safety::{PiiRule, reference};

const CORPUS: &str = "corpora/pii-labelled.jsonl";

fn shared() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("LOOM_SHARED").map_or_else(beside, PathBuf::from).join(CORPUS);
    path.is_file().then_some(path)
}

fn rule_of(label: &str) -> Option<PiiRule> {
    match label {
        "CREDIT_CARD" => Some(PiiRule::Card),
        "EMAIL_ADDRESS" => Some(PiiRule::Email),
        "IBAN_CODE" => Some(PiiRule::Iban),
        "US_SSN" => Some(PiiRule::Ssn),
        _ => None,
    }
}

#[derive(Default)]
struct Tally {
    labelled: usize,
    valid: usize,
    found: usize,
    unlabelled: usize,
}

#[test]
fn every_labelled_value_that_is_valid_by_the_rules_is_found() {
    let Some(path) = shared() else {
        println!("skipped: no labelled corpus (set LOOM_SHARED to the folder that holds {CORPUS})");
        return;
    };
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let sentence: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = sentence["text"].as_str().unwrap();
        let byte = |chars: &serde_json::Value| {
            let chars = usize::try_from(chars.as_u64().unwrap()).unwrap();
            text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
        };
        let spans = sentence["spans"].as_array().unwrap();
        for rule in PiiRule::ALL {
            let tally = tallies.entry(rule.id().to_string()).or_default();
            let of_rule = spans.iter().filter(|span| span["type"].as_str().and_then(rule_of) == Some(rule));
            let labelled: Vec<(usize, usize)> =
                of_rule.map(|span| (byte(&span["start"]), byte(&span["end"]))).collect();
            for (start, end) in &labelled {
                let value = &text[*start..*end];
                tally.labelled += 1;
                if reference::matches(rule.id().as_str(), value).contains(&(0, value.len())) {
                    tally.valid += 1;
                    tally.found += usize::from(
                        ranges(rule, text).iter().any(|range| range.0 < *end && range.1 > *start),
                    );
                }
            }
            let strays = ranges(rule, text)
                .into_iter()
                .filter(|range| !labelled.iter().any(|(start, end)| range.0 < *end && range.1 > *start));
            tally.unlabelled += strays.count();
        }
    }
    for (rule, tally) in &tallies {
        let Tally { labelled, valid, found, unlabelled } = tally;
        println!(
            "{rule}: labelled {labelled}, valid {valid}, found {found}, flagged without a label {unlabelled}"
        );
        assert_eq!(found, valid, "{rule}");
        assert!(*unlabelled <= labelled / 20, "{rule}: {unlabelled}");
        // Floors of the valid share, so that the rules cannot shrink until nothing is left to find.
        let floor_percent = if rule == "pii.card" { 80 } else { 100 };
        assert!(valid * 100 >= labelled * floor_percent, "{rule}: {valid} of {labelled}");
    }
}

/// Matches one after the other, each search going on after the end of the last match.
fn ranges(rule: PiiRule, text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(finding) = rule.earliest(text, from) {
        from = finding.range.end;
        found.push((finding.range.start, finding.range.end));
    }
    found
}
