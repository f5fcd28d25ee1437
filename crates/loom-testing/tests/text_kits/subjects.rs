//! Small subjects to judge: forms made of closures, and the careful ones.

use std::sync::Arc;

use loom_effect_runtime::{
    Call, CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Output, OutputMiddleware, Refusal, Step,
    Verdict, Violation,
};
use loom_testing::kit::{Check, Report};

pub(crate) type Push = Box<dyn FnMut(&str, &mut Outlet<'_>) -> Verdict + Send>;

/// A delta form made of a closure that makes guards.
pub(crate) struct Form<F>(pub(crate) F);

struct Guard(Push);

impl<F: Fn() -> Push + Send + Sync> DeltaForm for Form<F> {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Guard((self.0)()))
    }
}

impl DeltaGuard for Guard {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        (self.0)(text, out)
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// The sample word, and a text that holds it.
pub(crate) const WORD: &str = "swordfish";
pub(crate) const TEXT: &str = "the word is swordfish, keep it";

/// Where the word is in a text, as a violation of `rule` in code points.
pub(crate) fn found(rule: &'static str, text: &str) -> Option<Violation> {
    let at = text.find(WORD)?;
    Some(Violation::safety(rule).at(text[..at].chars().count() as u64, WORD.len() as u64))
}

/// Severs at the word once it has all of it.
pub(crate) fn word_guard() -> Form<impl Fn() -> Push + Send + Sync> {
    Form(|| -> Push {
        let mut so_far = String::new();
        Box::new(move |text, _| {
            so_far.push_str(text);
            found("word", &so_far).map_or(Verdict::Pass, Verdict::Sever)
        })
    })
}

/// Replaces the word in texts of every shape and in live text.
#[derive(Clone)]
pub(crate) struct Redactor {
    pub(crate) mask: &'static str,
    /// Severs instead of replacing.
    pub(crate) severs: bool,
    /// Whether what is held is flushed at the end.
    pub(crate) flushes: bool,
}

impl Redactor {
    pub(crate) fn new(mask: &'static str) -> Self {
        Self { mask, severs: false, flushes: true }
    }
}

impl OutputMiddleware for Redactor {
    fn name(&self) -> &str {
        "test-redactor"
    }

    fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
        if self.severs {
            let refused = output.json().is_ok_and(|json| json.to_string().contains(WORD));
            return if refused { Step::Deny(Refusal::safety("held_word")) } else { Step::Go };
        }
        rewrite(output, &|text| text.replace(WORD, self.mask))
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(self)
    }
}

/// Rewrites every text of an output.
pub(crate) fn rewrite(output: &mut Output, change: &dyn Fn(&str) -> String) -> Step {
    fn walk(json: &mut serde_json::Value, change: &dyn Fn(&str) -> String) {
        match json {
            serde_json::Value::String(text) => *text = change(text),
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| walk(item, change)),
            serde_json::Value::Object(map) => map.values_mut().for_each(|item| walk(item, change)),
            _ => {}
        }
    }
    match output.edit(|json| walk(json, change)) {
        Ok(()) => Step::Go,
        Err(_) => Step::Deny(Refusal::safety("does_not_fit")),
    }
}

impl DeltaForm for Redactor {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::TEXT | DeltaKinds::REASONING
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(HoldBack { rule: self.clone(), held: String::new(), gone: 0 })
    }
}

/// Holds back what may still become the word.
struct HoldBack {
    rule: Redactor,
    held: String,
    /// Code points before what is held.
    gone: u64,
}

impl DeltaGuard for HoldBack {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        self.held.push_str(text);
        while let Some(at) = self.held.find(WORD) {
            out.pass(&self.held[..at]);
            self.gone += self.held[..at].chars().count() as u64;
            if self.rule.severs {
                return Verdict::Sever(Violation::safety("held_word").at(self.gone, WORD.len() as u64));
            }
            out.pass(self.rule.mask);
            self.gone += WORD.len() as u64;
            self.held.drain(..at + WORD.len());
        }
        let open = (1..WORD.len()).rev().find(|open| self.held.ends_with(&WORD[..*open])).unwrap_or(0);
        let settled = self.held.len() - open;
        out.pass(&self.held[..settled]);
        self.gone += self.held[..settled].chars().count() as u64;
        self.held.drain(..settled);
        Verdict::Done
    }

    fn finish(&mut self, out: &mut Outlet<'_>) -> Result<(), Violation> {
        if self.rule.flushes {
            out.pass(&self.held);
        }
        Ok(())
    }
}

/// An inspector with an optional form, made of a closure.
pub(crate) fn form(make: impl Fn() -> Push + Send + Sync + 'static) -> Option<Arc<dyn DeltaForm>> {
    Some(Arc::new(Form(make)))
}

/// Fails unless these checks and no others are found not to hold.
#[track_caller]
pub(crate) fn reports(report: &Report, expected: &[Check]) {
    let found: Vec<Check> = Check::ALL.iter().copied().filter(|check| report.found(*check)).collect();
    assert!(
        found.len() == expected.len() && expected.iter().all(|check| found.contains(check)),
        "expected {expected:?}\n{report}"
    );
}
