//! The fuzz targets: hostile bytes for what reads the wire, for as long as one likes, and the proof that the targets
//! notice a fault. They are tests of the suite `fuzz`, which runs with the other tests too, briefly.

use std::process::{Command, ExitCode};

use crate::args::{Args, Grammar};
use crate::finding::{Finding, Report};
use crate::process::{self, Output, Ran};
use crate::stop::Stop;
use crate::terminal::say;
use crate::trace::tests_in;
use crate::workspace::{Tree, Workspace, cargo};

const TARGET: &str = "fuzz";
const FOLDER: &str = "crates/loom-llm/tests/fuzz/";
/// A fault of the harness, read by the harness itself.
const SABOTAGE: &str = "LOOM_FUZZ_SABOTAGE";
const SABOTAGES: [&str; 2] = ["dropped-byte", "swallowed-error"];
/// Inputs of each target in a run that shall only show that none fails at once.
const ITERATIONS_BRIEF: &str = "200";
/// For how long each target runs unless it is said, here and in `deep`.
const SECONDS: u64 = 20;
const SECONDS_DEEP: u64 = 180;
const SECONDS_MAX: u64 = 900;

pub(crate) fn sabotages() -> Vec<&'static str> {
    SABOTAGES.to_vec()
}

/// Runs the targets briefly, or with one fault planted in their harness: then every target has to fail.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let targets = targets(&workspace.tree()?);
    let mut suite = suite(workspace);
    let rule = match sabotage {
        None => {
            suite.env("BOLERO_RANDOM_ITERATIONS", ITERATIONS_BRIEF);
            TARGET
        }
        Some(name) => {
            suite.env(SABOTAGE, name);
            let known = SABOTAGES.into_iter().find(|known| *known == name);
            known.ok_or_else(|| Stop::Usage(format!("fuzz knows no sabotage `{name}`")))?
        }
    };
    let log = workspace.target.join("xtask").join("fuzz.log");
    report(rule, &targets, &process::run(&mut suite, Output::Kept, &log)?)
}

/// `fuzz [--seconds N] [--sabotage NAME]`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let args = Args::parse(words, Grammar { options: &["--seconds", "--sabotage"], ..Grammar::default() })?;
    if let Some(sabotage) = args.value("--sabotage") {
        let report = judge(workspace, Some(sabotage))?;
        say(report.to_string().trim_end());
        return Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let seconds = match args.value("--seconds").map(str::parse) {
        None => SECONDS,
        Some(Ok(seconds @ 1..=SECONDS_MAX)) => seconds,
        Some(_) => return Err(Stop::Usage(format!("`--seconds` expects a number from 1 to {SECONDS_MAX}"))),
    };
    Ok(if run_for(workspace, seconds)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the targets for as long as `deep` has time for; whether they hold.
pub(crate) fn run_deep(workspace: &Workspace) -> Result<bool, Stop> {
    run_for(workspace, SECONDS_DEEP)
}

fn run_for(workspace: &Workspace, seconds: u64) -> Result<bool, Stop> {
    eprintln!("fuzz: {} targets, {seconds} s each", targets(&workspace.tree()?).len());
    let mut suite = suite(workspace);
    suite.env("BOLERO_RANDOM_TEST_TIME_MS", (seconds * 1000).to_string());
    suite.env("BOLERO_RANDOM_ITERATIONS", usize::MAX.to_string());
    Ok(process::run(&mut suite, Output::Live, &workspace.target)?.ok)
}

fn suite(workspace: &Workspace) -> Command {
    let mut cargo = cargo();
    cargo.current_dir(&workspace.root).args(["test", "--workspace", "--all-features", "--test", TARGET]);
    cargo.env("CARGO_TERM_PROGRESS_WHEN", "never").env_remove(SABOTAGE);
    cargo
}

/// The names of the targets.
fn targets(tree: &Tree) -> Vec<String> {
    let ours = tests_in(tree).into_iter().filter(|test| test.path.starts_with(FOLDER));
    ours.map(|test| test.name).collect()
}

/// What a run of the suite shows. Of a planted fault it is only reported if every target noticed it.
fn report(rule: &'static str, targets: &[String], ran: &Ran) -> Result<Report, Stop> {
    let ended = |target: &String, how: &str| {
        let ends = format!("{target} ... {how}");
        ran.output.lines().any(|line| line.starts_with("test ") && line.ends_with(&ends))
    };
    let failed: Vec<&String> = targets.iter().filter(|target| ended(target, "FAILED")).collect();
    let passed: Vec<&String> = targets.iter().filter(|target| ended(target, "ok")).collect();
    if targets.is_empty() || failed.len() + passed.len() < targets.len() {
        return Err(Stop::Failed(format!("the fuzz targets did not run:\n{}", ran.output)));
    }
    let mut report = Report { lines: vec![format!("{} targets ran", targets.len())], ..Report::default() };
    if rule == TARGET || passed.is_empty() {
        let why = if rule == TARGET { "an input breaks it; see fuzz.log" } else { "it noticed the fault" };
        report.findings.extend(failed.iter().map(|target| Finding::new(rule, target.as_str(), why)));
    } else {
        report.lines.extend(passed.iter().map(|target| format!("{target} did not notice `{rule}`")));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rule: &'static str, output: &str) -> Result<Report, Stop> {
        let targets = ["ends_well".to_owned(), "invents_nothing".to_owned()];
        report(rule, &targets, &Ran { output: output.to_owned(), ..Ran::default() })
    }

    #[test]
    fn a_fault_counts_as_reported_only_where_every_target_noticed_it() {
        let both = "test a::ends_well ... FAILED\ntest b::invents_nothing ... FAILED\n";
        let found = shown(SABOTAGES[0], both).unwrap().findings;
        assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), [SABOTAGES[0]; 2]);
        let one = "test a::ends_well ... FAILED\ntest b::invents_nothing ... ok\n";
        assert_eq!(shown(SABOTAGES[0], one).unwrap().findings, []);
        assert_eq!(shown(TARGET, one).unwrap().findings.len(), 1, "without a fault each failure counts");
    }

    #[test]
    fn targets_that_did_not_run_show_nothing() {
        assert!(shown(TARGET, "error: could not compile\n").is_err());
        assert!(shown(TARGET, "test a::ends_well ... ok\n").is_err());
    }
}
