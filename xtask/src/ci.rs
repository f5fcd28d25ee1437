//! The one definition of green: every step, one verdict line each, and all of them run whatever fails.

mod cargo;
mod condense;
mod count;
mod features;
mod models;
mod packages;
pub(crate) mod real_model;
mod strangers;
mod suites;

use std::process::ExitCode;
use std::time::Instant;

use crate::args::{Args, Grammar};
use crate::finding::Report;
use crate::judge;
use crate::process::Output;
use crate::stop::Stop;
use crate::terminal::say;
use crate::workspace::Workspace;
use count::Count;

/// What a step is given.
pub(crate) struct Job<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) name: &'static str,
    pub(crate) output: Output,
    /// A fault to plant under this step's judge.
    pub(crate) sabotage: Option<&'a str>,
    /// Whether a judge's advice counts as a finding, and a skip as a failure.
    pub(crate) strict: bool,
}

/// How a step came out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) ok: bool,
    /// What it has to say, shown where it failed.
    pub(crate) told: String,
    /// The tests it ran.
    pub(crate) tests: Count,
    /// A line that the whole run ends with, whether or not it is green.
    pub(crate) closing: Option<String>,
}

impl Verdict {
    pub(crate) fn failed(told: impl Into<String>) -> Self {
        Self { ok: false, told: told.into(), ..Self::default() }
    }
}

/// A step: its name, and how it is carried out.
struct Step {
    name: &'static str,
    run: fn(&Job<'_>) -> Result<Verdict, Stop>,
}

/// Cheap ones first; what shares compiled dependencies stands side by side. The model comes last: its line closes the
/// run, and nothing else wants the cores that it decodes on.
const STEPS: [Step; 17] = [
    Step { name: "fmt", run: cargo::fmt },
    Step { name: "layers", run: judged },
    Step { name: "tidy", run: judged },
    Step { name: "trace", run: judged },
    Step { name: "judges", run: judges },
    Step { name: "public", run: judged },
    Step { name: "kit", run: judged },
    Step { name: "clippy", run: cargo::clippy },
    Step { name: "test", run: suites::test },
    Step { name: "compile-fail", run: suites::compile_fail },
    Step { name: "doc-test", run: suites::doc_test },
    Step { name: "docs", run: cargo::docs },
    Step { name: "features", run: features::run },
    Step { name: "package", run: packages::run },
    Step { name: "strangers", run: strangers::run },
    Step { name: "shuttle", run: models::run },
    Step { name: "real-model", run: real_model::run },
];

/// `ci`: every step.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let grammar = Grammar { switches: &["--strict"], options: &["--sabotage"], words_max: 0 };
    let args = Args::parse(words, grammar)?;
    let sabotage = args.value("--sabotage");
    let sabotaged = sabotage.map(judge::owner).transpose()?.map(|judge| judge.name);
    let strict = args.has("--strict");
    let mut tests = Count::default();
    let mut failed = Vec::new();
    let mut closing = Vec::new();
    let start = Instant::now();
    // A judge that is no step of its own is asked in `judges`.
    let at = |step: &Step| {
        sabotaged.is_some_and(|name| {
            name == step.name || (matches!(name, "bench" | "fuzz") && step.name == "judges")
        })
    };
    for step in &STEPS {
        let sabotage = sabotage.filter(|_| at(step));
        let job = Job { workspace, name: step.name, output: Output::Kept, sabotage, strict };
        let begun = Instant::now();
        let verdict = (step.run)(&job).unwrap_or_else(|stop| Verdict::failed(stop.to_string()));
        tests += verdict.tests;
        print_verdict(step.name, &verdict, begun.elapsed().as_secs_f64());
        closing.extend(verdict.closing);
        if !verdict.ok {
            failed.push(step.name);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    if failed.is_empty() {
        say(format_args!("\nall {} steps ok in {seconds:.1} s", STEPS.len()));
    } else {
        let (all, names) = (STEPS.len(), failed.join(", "));
        say(format_args!("\n{} of {all} steps failed in {seconds:.1} s: {names}", failed.len()));
    }
    say(tests);
    closing.iter().for_each(say);
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One step by its name, its output passed through.
pub(crate) fn run_alone(workspace: &Workspace, name: &str, words: &[String]) -> Result<ExitCode, Stop> {
    let step = STEPS.iter().find(|step| step.name == name);
    let step = step.ok_or_else(|| Stop::Usage(format!("unknown command `{name}`")))?;
    let options: &[&str] = if judge::named(name).is_some() { &["--sabotage"] } else { &[] };
    let args = Args::parse(words, Grammar { switches: &["--strict"], options, words_max: 0 })?;
    let (sabotage, strict) = (args.value("--sabotage"), args.has("--strict"));
    let job = Job { workspace, name: step.name, output: Output::Live, sabotage, strict };
    let verdict = (step.run)(&job)?;
    if !verdict.told.is_empty() {
        say(verdict.told.trim_end());
    }
    eprintln!("{} {name}", if verdict.ok { "ok  " } else { "FAIL" });
    verdict.closing.iter().for_each(say);
    Ok(if verdict.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The concurrency models, exploring `iterations` schedules each; whether all of them hold.
pub(crate) fn run_models(workspace: &Workspace, iterations: &str) -> Result<bool, Stop> {
    let job = Job { workspace, name: "shuttle", output: Output::Live, sabotage: None, strict: false };
    Ok(models::run_longer(&job, iterations)?.ok)
}

/// The part of the real-model suite that `ci` has no time for; whether it holds, or was skipped and may be.
pub(crate) fn run_real_model_longer(workspace: &Workspace, strict: bool) -> Result<bool, Stop> {
    let job = Job { workspace, name: "real-model", output: Output::Live, sabotage: None, strict };
    let verdict = real_model::run_part(&job, real_model::Part::Deep)?;
    say(verdict.told.trim_end());
    verdict.closing.iter().for_each(say);
    Ok(verdict.ok)
}

fn print_verdict(name: &str, verdict: &Verdict, seconds: f64) {
    let ok = if verdict.ok { "ok  " } else { "FAIL" };
    say(format_args!("{ok} {name:<13} {seconds:>6.1} s{}", note(verdict.tests)));
    if !verdict.ok {
        say(format_args!("{}\n", condense::condense(&verdict.told)));
    }
}

/// What a step's line says of its tests; all of them only where one failed.
fn note(tests: Count) -> String {
    match tests {
        Count { passed: 0, failed: 0, ignored: 0 } => String::new(),
        Count { passed: 0, failed: 0, .. } => "  (skipped)".to_owned(),
        Count { passed, failed: 0, .. } => format!("  ({passed} tests)"),
        _ => format!("  ({tests})"),
    }
}

/// A judge as a step of the same name.
fn judged(job: &Job<'_>) -> Result<Verdict, Stop> {
    let judge =
        judge::named(job.name).ok_or_else(|| Stop::failed(format!("no judge is called {}", job.name)))?;
    Ok(told(job, (judge.judge)(job.workspace, job.sabotage)?))
}

fn judges(job: &Job<'_>) -> Result<Verdict, Stop> {
    let report = match job.sabotage {
        Some(sabotage) => (judge::owner(sabotage)?.judge)(job.workspace, Some(sabotage))?,
        None => judge::prove(job.workspace)?,
    };
    Ok(told(job, report))
}

/// Alone, a judge tells all it read; in a whole run only what is wrong.
fn told(job: &Job<'_>, mut report: Report) -> Verdict {
    if job.strict {
        report.findings.append(&mut report.advice);
    }
    if job.output == Output::Kept {
        report.lines.clear();
    }
    Verdict { ok: report.findings.is_empty(), told: report.to_string(), ..Verdict::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_with_failed_tests_is_never_noted_as_skipped() {
        let count = |passed, failed, ignored| note(Count { passed, failed, ignored });
        assert_eq!(count(0, 2, 1), "  (0 passed, 2 failed, 1 skipped)");
        assert_eq!(count(3, 2, 0), "  (3 passed, 2 failed)");
        assert_eq!(count(3, 0, 1), "  (3 tests)");
        assert_eq!(count(0, 0, 1), "  (skipped)");
        assert_eq!(count(0, 0, 0), "");
    }
}
