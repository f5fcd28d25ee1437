//! What a call came to, and what is demanded of whatever it came to.

use loom_effect_runtime::{CallError, ErrorName};

use super::echo::quotes;
use super::probe::CANARY;
use super::stage::Warned;
use crate::kit::play::Played;
use crate::kit::report::{Check, Report};

/// What a call came to, to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Gave(String),
    Failed { name: ErrorName, rule: Option<String> },
    Never,
}

impl Came {
    pub(crate) fn of(result: Option<&Result<String, CallError>>) -> Self {
        match result {
            None => Self::Never,
            Some(Ok(output)) => Self::Gave(output.clone()),
            Some(Err(error)) => Self::Failed { name: error.name(), rule: error.rule().map(str::to_owned) },
        }
    }

    pub(crate) fn gave(&self) -> bool {
        matches!(self, Self::Gave(_))
    }

    /// Whether both gave an output, whichever, or failed alike.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self == other || (self.gave() && other.gave())
    }

    /// Whether [`judge`] reports it already: no end, a panic, a wait without a decision.
    pub(crate) fn is_judged(&self) -> bool {
        match self {
            Self::Gave(_) => false,
            Self::Never => true,
            Self::Failed { rule, .. } => is_broken(rule.as_deref().unwrap_or_default()),
        }
    }

    /// For a report: no longer than a line.
    pub(crate) fn brief(&self) -> String {
        const CHARS: usize = 200;
        match self {
            Self::Never => "no end".to_owned(),
            Self::Gave(output) => format!("the output {}", output.chars().take(CHARS).collect::<String>()),
            Self::Failed { name, rule, .. } => {
                format!("{name} by rule {}", rule.as_deref().unwrap_or("(none)"))
            }
        }
    }
}

/// It ended, nobody panicked, who waits decides in time, and no error quotes input or output.
pub(crate) fn judge(report: &mut Report, played: &Played<String>, warned: &Warned) {
    report.must(Check::Ends, played.result.is_some(), || "a call never ended".to_owned());
    report.must(Check::NoPanic, !warned.panicked(), || "it panicked after the call".to_owned());
    report.checked(Check::NoEcho);
    if let Some(error) = played.error() {
        judge_error(report, error);
    }
}

/// The rules of the runtime for a hook that panicked or did not decide.
fn is_broken(rule: &str) -> bool {
    rule.ends_with(".panicked") || rule.ends_with(".deadline") || rule == "undecided"
}

fn judge_error(report: &mut Report, error: &CallError) {
    let rule = error.rule().unwrap_or_default();
    report.must(Check::NoPanic, !rule.ends_with(".panicked"), || format!("the call failed by `{rule}`"));
    report.must(Check::Ends, !rule.ends_with(".deadline"), || {
        format!("its waiting step ran into its deadline: `{rule}`")
    });
    report.must(Check::Ends, rule != "undecided", || {
        "it says that it waits and has no waiting twin: every such call is refused".to_owned()
    });
    if let Some(place) = quotes(error, CANARY) {
        report.fault(Check::NoEcho, format!("the error quotes input or output in its {place}"));
    }
}

/// What the sink saw folds to what was returned, and `done` is said once, of a success that streamed.
pub(crate) fn judge_view(report: &mut Report, played: &Played<String>) {
    report.checked(Check::LiveText);
    if let Some(told) = misfold(played) {
        report.fault(Check::LiveText, told);
    }
}

fn misfold(played: &Played<String>) -> Option<String> {
    let seen = &played.seen;
    match played.output() {
        Some(output) if played.report.streamed => (seen.text != *output || seen.done != 1)
            .then(|| format!("the live text is not the output, or `done` came {} times", seen.done)),
        Some(_) => (!seen.text.is_empty() || seen.done > 0)
            .then(|| "the output was not streamed and a text stands in the live view".to_owned()),
        None => (seen.done > 0).then(|| "`done` was said of a call that failed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::play::Seen;
    use loom_effect_runtime::CallReport;

    fn played(text: &str, done: u32, streamed: bool) -> Played<String> {
        let mut report = CallReport::default();
        report.streamed = streamed;
        Played {
            result: Some(Ok("output".to_owned())),
            report,
            seen: Seen { text: text.to_owned(), done, ..Seen::default() },
            longest_poll: std::time::Duration::ZERO,
            polls: 1,
        }
    }

    /// D11: a fold that is not the output, a second `done` and a text left standing are faults.
    #[test]
    fn a_live_view_that_is_not_the_output_is_a_fault() {
        assert_eq!(misfold(&played("output", 1, true)), None);
        assert_eq!(misfold(&played("", 0, false)), None);
        assert!(misfold(&played("outputoutput", 1, true)).is_some());
        assert!(misfold(&played("output", 2, true)).is_some());
        assert!(misfold(&played("output", 0, false)).is_some());
    }
}
