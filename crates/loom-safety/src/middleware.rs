//! Validators as middleware: input before the effect, output after it, live text between.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use loom_classify::walk::{Scalar, Visit, WalkError};
use loom_effect_runtime::{
    Call, CallInfo, DeltaForm, DeltaGuard, DeltaKind, DeltaKinds, Input, Lane, Middleware, Outlet, Output,
    OutputMiddleware, Refusal, Step, Verdict, Violation,
};

use crate::decimal::Decimal;
use crate::delta::DeltaJudge;
use crate::rule::Finding;
use crate::unescape::UnescapedJudge;
use crate::validator::{Judges, Phase, SafetyValidator};

/// Runs validators on input, output and live text. A cheap handle: clone it to register both of its roles.
///
/// - As [`Middleware`] it judges every key, text, byte string and number of the input, on the very value that the
///   effect gets.
/// - As [`OutputMiddleware`] it judges those of the output, what is inside a tainted wrapper included, and guards
///   live text by the validators' delta forms, with fresh judges for each attempt and lane (spec row D10).
///
/// Names of struct fields and enum variants are the program's own and not judged.
///
/// One validator that judges output without a delta form makes the whole middleware answer "no delta form": streams
/// are refused, and the middleware's name, which the warning tells, then says which validator it is
/// (`safety:<validator>`).
///
/// A value that cannot be walked is refused under the rule `unreadable`.
#[derive(Clone)]
pub struct SafetyMiddleware(Arc<Validators>);

struct Validators {
    name: String,
    entries: Vec<Entry>,
    kinds: Option<DeltaKinds>,
}

struct Entry {
    validator: Box<dyn SafetyValidator>,
    judges: Judges,
}

impl SafetyMiddleware {
    /// Middleware of these validators, asked in this order; the first finding refuses.
    ///
    /// ```
    /// use loom_safety::{DenyPattern, DenyPatterns, PiiValidator, SafetyMiddleware};
    ///
    /// let deny = DenyPatterns::new([DenyPattern::literal("zephyr").word_bounded()])?;
    /// let safety = SafetyMiddleware::new([PiiValidator::default().into(), deny.into()]);
    /// # Ok::<(), loom_safety::DenyPatternError>(())
    /// ```
    pub fn new(validators: impl IntoIterator<Item = Box<dyn SafetyValidator>>) -> Self {
        let entries: Vec<Entry> =
            validators.into_iter().map(|validator| Entry { judges: validator.judges(), validator }).collect();
        let blind = entries
            .iter()
            .find(|entry| entry.judges.covers(Phase::Output) && entry.validator.delta().is_none());
        let name =
            blind.map_or_else(|| "safety".to_owned(), |entry| format!("safety:{}", entry.validator.name()));
        let checks = entries
            .iter()
            .filter(|entry| entry.judges.covers(Phase::Output))
            .map(|entry| entry.validator.delta());
        let kinds = checks
            .map(|check| check.map(|check| check.kinds()))
            .try_fold(DeltaKinds::ALL, |all, kinds| Some(all & kinds?));
        Self(Arc::new(Validators { name, entries, kinds }))
    }

    fn judge(&self, phase: Phase, walk: impl FnOnce(&mut Inspector<'_>) -> Result<(), WalkError>) -> Step {
        let mut inspector = Inspector { entries: &self.0.entries, phase, refusal: None };
        if !self.0.entries.iter().any(|entry| entry.judges.covers(phase)) {
            return Step::Go;
        }
        match (walk(&mut inspector), inspector.refusal) {
            (_, Some(refusal)) => Step::Deny(refusal),
            (Err(_), None) => Step::Deny(Refusal::safety("unreadable")),
            (Ok(()), None) => Step::Go,
        }
    }
}

impl fmt::Debug for SafetyMiddleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SafetyMiddleware").field(&self.0.name).finish()
    }
}

impl Middleware for SafetyMiddleware {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn before(&self, _call: &Call, input: &Input) -> Step {
        self.judge(Phase::Input, |inspector| input.walk(inspector))
    }
}

impl OutputMiddleware for SafetyMiddleware {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
        self.judge(Phase::Output, |inspector| output.walk(inspector))
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        self.0.kinds.is_some().then_some(self)
    }
}

impl DeltaForm for SafetyMiddleware {
    fn kinds(&self) -> DeltaKinds {
        self.0.kinds.unwrap_or(DeltaKinds::NONE)
    }

    fn guard(&self, _call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard> {
        let output = self.0.entries.iter().filter(|entry| entry.judges.covers(Phase::Output));
        let judges = output.map(|entry| match entry.validator.delta() {
            Some(check) if lane.kind() == DeltaKind::ToolArguments => {
                Box::new(UnescapedJudge::new(check.judge(), check.judge()))
            }
            Some(check) => check.judge(),
            None => Box::new(FormWithdrawn) as Box<dyn DeltaJudge>,
        });
        Box::new(JudgingGuard(judges.collect()))
    }
}

impl<V: SafetyValidator> From<V> for Box<dyn SafetyValidator> {
    fn from(validator: V) -> Self {
        Box::new(validator)
    }
}

/// Asks each judge in turn, before the piece goes on.
struct JudgingGuard(Vec<Box<dyn DeltaJudge>>);

impl DeltaGuard for JudgingGuard {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        match self.0.iter_mut().try_for_each(|judge| judge.push(text)) {
            Ok(()) => Verdict::Pass,
            Err(violation) => Verdict::Sever(violation),
        }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// Stands in for a validator that had a delta form at registration and denies it now: what it would have judged
/// must not pass.
struct FormWithdrawn;

impl DeltaJudge for FormWithdrawn {
    fn push(&mut self, _delta: &str) -> Result<(), Violation> {
        Err(Violation::safety("delta-form-withdrawn"))
    }
}

/// Shows what a walk meets to every validator of the phase.
struct Inspector<'a> {
    entries: &'a [Entry],
    phase: Phase,
    refusal: Option<Refusal>,
}

impl Inspector<'_> {
    fn judge(&mut self, text: &str) -> ControlFlow<()> {
        let asked = self.entries.iter().filter(|entry| entry.judges.covers(self.phase));
        match asked.map(|entry| entry.validator.check(self.phase, text)).find_map(Result::err) {
            None => ControlFlow::Continue(()),
            Some(finding) => {
                self.refusal = Some(refusal(finding, text));
                ControlFlow::Break(())
            }
        }
    }
}

impl Visit for Inspector<'_> {
    fn key(&mut self, key: &str) -> ControlFlow<()> {
        self.judge(key)
    }

    fn field(&mut self, _name: &'static str) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn text(&mut self, text: &str) -> ControlFlow<()> {
        self.judge(text)
    }

    fn bytes(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
        self.judge(&text)
    }

    fn scalar(&mut self, scalar: Scalar) -> ControlFlow<()> {
        match scalar {
            Scalar::Null | Scalar::Bool(_) => ControlFlow::Continue(()),
            number => self.judge(Decimal::of(number).as_str()),
        }
    }
}

fn refusal(finding: Finding, text: &str) -> Refusal {
    let place = finding.place_in(text);
    Refusal::safety(finding.rule.into_cow()).at(place.offset_chars, place.length_chars)
}
