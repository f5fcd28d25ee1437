//! The kit of safety validators.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom_safety::{Finding, Phase, SafetyMiddleware, SafetyValidator};

use super::report::{Check, Report};
use super::text::TextKit;
use super::texts::{PROSE, embedded, hostile};

/// A word that stands beside each text.
const CANARY: &str = "kitcanaryqzx";

/// The kit of a safety validator. `validator` makes a fresh one each time.
///
/// Its `check` is held to being a function of its text, in each phase that it judges. Then it is run as
/// [`SafetyMiddleware`] through what [`output_middleware`](super::output_middleware) checks, [eager](TextKit::eager) as
/// its contract allows: its delta form must refuse, in every split, what its `check` refuses.
///
/// ```
/// use loom_safety::{DenyPattern, DenyPatterns};
///
/// let deny = || DenyPatterns::new([DenyPattern::literal("zephyr").word_bounded()]).unwrap();
/// loom_testing::kit::validator(deny).texts(["about zephyr, again"]).check();
/// ```
pub fn validator<V: SafetyValidator>(validator: impl Fn() -> V + Send + Sync + 'static) -> TextKit {
    let validator = Arc::new(validator);
    let subject = Arc::clone(&validator);
    let make = move || Arc::new(SafetyMiddleware::new([subject().into()])) as super::text::Instance;
    TextKit::new("a safety validator", true, make)
        .eager()
        .also(Box::new(move |report, texts| pure(report, (&validator(), &validator()), texts)))
}

/// Asks one validator twice and another once about each text, other texts in between.
fn pure<V: SafetyValidator>(report: &mut Report, (one, other): (&V, &V), texts: &[String]) {
    let mut all: Vec<String> = texts.to_vec();
    all.extend(texts.iter().map(|text| embedded(text)));
    all.extend(texts.iter().map(|text| format!("{CANARY} {text} {CANARY}")));
    all.extend(hostile());
    let mut refused = vec![false; all.len()];
    for phase in [Phase::Input, Phase::Output].into_iter().filter(|phase| one.judges().covers(*phase)) {
        let first: Vec<_> = all.iter().map(|text| asked(report, one, phase, text)).collect();
        for ((text, first), refused) in all.iter().zip(first).zip(&mut refused) {
            let same = first == asked(report, one, phase, text) && first == asked(report, other, phase, text);
            report.must(Check::Repeatable, same, || format!("{phase:?}: two verdicts about one text"));
            let finding = first.and_then(Result::err);
            *refused |= finding.is_some();
            let quotes = finding.is_some_and(|finding| finding.rule.as_str().contains(CANARY));
            report.must(Check::NoEcho, !quotes, || format!("{phase:?}: its rule quotes the text"));
        }
        let prose = asked(report, one, phase, PROSE).is_none_or(|told| told.is_ok());
        report.must(Check::SuccessKept, prose, || format!("{phase:?}: plain prose is refused"));
    }
    for (text, refused) in texts.iter().zip(refused) {
        report.must(Check::Judged, refused, || format!("{text:?} was refused in no phase"));
    }
    let (name, again) = (one.name(), other.name());
    let fit = (1..=128).contains(&name.len()) && !name.contains(char::is_control) && name == again;
    report.must(Check::Named, fit, || {
        "its name is empty, over 128 bytes, no plain text, or changes".to_owned()
    });
}

/// `None` where it panicked.
fn asked<V: SafetyValidator>(
    report: &mut Report,
    validator: &V,
    phase: Phase,
    text: &str,
) -> Option<Result<(), Finding>> {
    let asked = catch_unwind(AssertUnwindSafe(|| validator.check(phase, text))).ok();
    report.must(Check::NoPanic, asked.is_some(), || format!("{phase:?}: `check` panicked"));
    asked
}
