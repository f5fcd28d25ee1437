//! Careless validators are reported.

use std::sync::atomic::{AtomicUsize, Ordering};

use loom_effect_runtime::Violation;
use loom_safety::{
    DeltaCheck, DeltaJudge, DeltaWindow, Finding, Phase, RuleId, SafetyValidator, delta_window,
};
use loom_testing::kit::{self, Check, Report};

use crate::subjects::{TEXT, WORD, found, reports};

type CheckFn = fn(&str) -> Result<(), Finding>;

/// A validator of these parts.
struct Parts {
    check: CheckFn,
    delta: Option<Box<dyn DeltaCheck>>,
}

impl SafetyValidator for Parts {
    fn name(&self) -> &str {
        "parts"
    }

    fn check(&self, _phase: Phase, text: &str) -> Result<(), Finding> {
        (self.check)(text)
    }

    fn delta(&self) -> Option<&dyn DeltaCheck> {
        self.delta.as_deref()
    }
}

/// A delta form of judges made by a closure.
struct Judging<F>(F);

impl<F: Fn() -> Box<dyn DeltaJudge> + Send + Sync> DeltaCheck for Judging<F> {
    fn judge(&self) -> Box<dyn DeltaJudge> {
        (self.0)()
    }
}

struct Judge<F>(F);

impl<F: FnMut(&str) -> Result<(), Violation> + Send> DeltaJudge for Judge<F> {
    fn push(&mut self, delta: &str) -> Result<(), Violation> {
        (self.0)(delta)
    }
}

fn word(text: &str) -> Result<(), Finding> {
    match text.find(WORD) {
        Some(at) => Err(Finding::new(RuleId::new("word"), at..at + WORD.len())),
        None => Ok(()),
    }
}

fn judge(check: CheckFn, delta: fn() -> Option<Box<dyn DeltaCheck>>) -> Report {
    kit::validator(move || Parts { check, delta: delta() }).texts([TEXT]).report()
}

/// D10: a careful one, by a window, and one without a delta form.
#[test]
fn a_validator_with_a_window_and_one_without_a_form_pass() {
    judge(word, || Some(Box::new(delta_window(DeltaWindow::DEFAULT, word)))).assert();
    judge(word, || None).assert();
}

/// D10: the judge looks at one delta at a time.
#[test]
fn a_validator_whose_judge_misses_a_word_in_pieces_is_reported() {
    let report = judge(word, || {
        Some(Box::new(Judging(|| -> Box<dyn DeltaJudge> {
            Box::new(Judge(|delta: &str| found("word", delta).map_or(Ok(()), Err)))
        })))
    });
    reports(&report, &[Check::OneVerdict]);
}

/// D10: the judge refuses nothing.
#[test]
fn a_validator_whose_judge_refuses_nothing_is_reported() {
    let report = judge(word, || {
        Some(Box::new(Judging(|| -> Box<dyn DeltaJudge> { Box::new(Judge(|_: &str| Ok(()))) })))
    });
    reports(&report, &[Check::FormsAgree]);
}

/// Its verdict is no function of the text.
#[test]
fn a_validator_that_counts_is_reported() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    fn counts(text: &str) -> Result<(), Finding> {
        match ASKED.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => Ok(()),
            _ => word(text),
        }
    }
    let report = judge(counts, || None);
    assert!(report.found(Check::Repeatable), "{report}");
}

/// It cuts a text where no character ends.
#[test]
fn a_validator_that_panics_on_text_that_is_not_ascii_is_reported() {
    fn cuts(text: &str) -> Result<(), Finding> {
        word(&text[..text.len().min(1)]).and_then(|()| word(text))
    }
    let report = judge(cuts, || None);
    reports(&report, &[Check::NoPanic]);
}

/// Its rule quotes the text.
#[test]
fn a_validator_whose_rule_quotes_the_text_is_reported() {
    fn quotes(text: &str) -> Result<(), Finding> {
        word(text).map_err(|found| Finding::new(RuleId::owned(text.to_owned()), found.range))
    }
    let report = judge(quotes, || None);
    reports(&report, &[Check::NoEcho]);
}
