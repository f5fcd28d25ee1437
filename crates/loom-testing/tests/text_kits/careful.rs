//! Careful subjects pass.

use loom_effect_runtime::{Refusal, Step, inspect};
use loom_safety::{DenyPattern, DenyPatterns, Judges, PiiValidator, SafetyMiddleware};
use loom_testing::kit;

use crate::subjects::{Redactor, TEXT, WORD, word_guard};

/// D17: a guard that keeps the text and severs at the word.
#[test]
fn a_severing_word_guard_passes() {
    kit::guard(word_guard).texts([TEXT, WORD]).check();
}

/// D19: one that holds back gives the same place and bytes in every split.
#[test]
fn a_guard_that_holds_back_and_severs_passes_the_exact_kit() {
    let severs = || Redactor { severs: true, ..Redactor::new("*") };
    kit::guard(severs).texts([TEXT, "日本 swordfish", "swords, swordswordfish"]).exact().check();
    kit::output_middleware(severs).texts([TEXT, "日本 swordfish"]).exact().check();
}

/// D21: a redactor whose live text and outputs are one text.
#[test]
fn a_redactor_with_a_delta_form_passes() {
    kit::output_middleware(|| Redactor::new("[…]")).texts([TEXT, "swordfishswordfish"]).exact().check();
}

/// D13: an inspector without a delta form; streams are blind, and calls are judged all the same.
#[test]
fn an_inspector_without_a_form_passes() {
    let blind = || {
        inspect("blind", None, |_, output| match output.json() {
            Ok(json) if !json.to_string().contains(WORD) => Step::Go,
            _ => Step::Deny(Refusal::safety("blind.word")),
        })
    };
    kit::output_middleware(blind).texts([TEXT]).check();
}

/// D13: an inspector of texts alone refuses what it does not know; it is judged by the texts.
#[test]
fn an_inspector_that_knows_texts_alone_passes() {
    let only_texts = || {
        inspect("only-texts", None, |_, output| match output.get_mut::<String>() {
            Some(text) => {
                *text = text.replace(WORD, "*");
                Step::Go
            }
            None => Step::Deny(Refusal::safety("only_texts.type")),
        })
    };
    kit::output_middleware(only_texts).texts([TEXT]).check();
}

const PII: [&str; 4] = [
    "the card 4111 1111 1111 1111 it is",
    "write to ada@example.com, please",
    "ssn 536-22-8726 on file",
    "pay DE89 3704 0044 0532 0130 00 today",
];

/// D10: the shipped validator of personal data.
#[test]
fn the_shipped_pii_validator_passes() {
    kit::validator(PiiValidator::default).texts(PII).check();
}

/// D10: the shipped deny patterns.
#[test]
fn the_shipped_deny_patterns_pass() {
    let deny = || {
        DenyPatterns::new([
            DenyPattern::literal("project zephyr").ignoring_case().word_bounded(),
            DenyPattern::regex(r"sk-[A-Za-z0-9]{20}"),
        ])
        .unwrap()
    };
    kit::validator(deny).texts(["about Project Zephyr: go", "the key sk-abcdefghij0123456789 works"]).check();
}

/// Validators of the input alone, and several in one middleware.
#[test]
fn the_shipped_validators_pass_in_every_phase_and_together() {
    let input_only = || PiiValidator::default().judging(Judges::InputOnly);
    kit::validator(input_only).texts([PII[0]]).check();
    let both = || {
        let deny = DenyPatterns::new([DenyPattern::literal("zephyr").named("codename")]).unwrap();
        SafetyMiddleware::new([PiiValidator::default().into(), deny.into()])
    };
    kit::output_middleware(both).texts([PII[0], "about zephyr, again"]).eager().check();
}
