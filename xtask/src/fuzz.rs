//! The fuzz targets: hostile bytes for what reads the wire, for as long as one likes, and the proof that the targets
//! notice a fault. They are tests of the suite `fuzz`, which runs with the other tests too, briefly.

use std::process::ExitCode;
use std::time::Duration;

use crate::args::{Args, Grammar};
use crate::finding::{Finding, Report};
use crate::process::{self, Output, Ran, STEP_SECONDS_MAX};
use crate::stop::Stop;
use crate::suite::{Ended, Suite};
use crate::terminal::say;
use crate::workspace::Workspace;

const SUITE: Suite =
    Suite { target: "fuzz", folder: "crates/loom-llm/tests/fuzz/", sabotage: "LOOM_FUZZ_SABOTAGE" };
const SABOTAGES: [&str; 2] = ["dropped-byte", "swallowed-error"];
/// Inputs of each target in a run that shall only show that none fails at once.
const ITERATIONS_BRIEF: &str = "200";
/// For how long each target runs unless it is said, here and in `deep`.
const SECONDS: u64 = 20;
const SECONDS_DEEP: u64 = 180;
const SECONDS_MAX: u64 = 900;
/// What building the targets may take before the first of them runs.
const BUILD_SECONDS_MAX: u64 = STEP_SECONDS_MAX;

pub(crate) fn sabotages() -> Vec<&'static str> {
    SABOTAGES.to_vec()
}

/// Runs the targets briefly, or with one fault planted in their harness: then every target has to fail.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let targets = SUITE.tests(&workspace.tree()?);
    let mut suite = SUITE.command(workspace);
    let rule = match sabotage {
        None => {
            suite.env("BOLERO_RANDOM_ITERATIONS", ITERATIONS_BRIEF);
            SUITE.target
        }
        Some(name) => {
            suite.env(SUITE.sabotage, name);
            let known = SABOTAGES.into_iter().find(|known| *known == name);
            known.ok_or_else(|| Stop::Usage(format!("fuzz knows no sabotage `{name}`")))?
        }
    };
    let log = workspace.target.join("xtask").join("fuzz.log");
    report(rule, &targets, &process::run(&mut suite, Output::Kept, &log)?)
}

/// `fuzz [--seconds N | --sabotage NAME]`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let ok = match Asked::parse(words)? {
        Asked::Sabotage(name) => {
            let report = judge(workspace, Some(&name))?;
            say(report.to_string().trim_end());
            report.findings.is_empty()
        }
        Asked::Seconds(seconds) => run_for(workspace, seconds)?,
    };
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// A brief run with this fault planted.
    Sabotage(String),
    /// Each target for so long.
    Seconds(u64),
}

impl Asked {
    fn parse(words: &[String]) -> Result<Self, Stop> {
        let args =
            Args::parse(words, Grammar { options: &["--seconds", "--sabotage"], ..Grammar::default() })?;
        match (args.value("--sabotage"), args.value("--seconds").map(str::parse)) {
            (Some(_), Some(_)) => {
                Err(Stop::Usage("a run with `--sabotage` is brief and takes no `--seconds`".into()))
            }
            (Some(name), None) => Ok(Self::Sabotage(name.to_owned())),
            (None, None) => Ok(Self::Seconds(SECONDS)),
            (None, Some(Ok(seconds @ 1..=SECONDS_MAX))) => Ok(Self::Seconds(seconds)),
            (None, Some(_)) => {
                Err(Stop::Usage(format!("`--seconds` expects a number from 1 to {SECONDS_MAX}")))
            }
        }
    }
}

/// Runs the targets for as long as `deep` has time for; whether they hold.
pub(crate) fn run_deep(workspace: &Workspace) -> Result<bool, Stop> {
    run_for(workspace, SECONDS_DEEP)
}

fn run_for(workspace: &Workspace, seconds: u64) -> Result<bool, Stop> {
    let targets = SUITE.tests(&workspace.tree()?).len();
    eprintln!("fuzz: {targets} targets, {seconds} s each");
    let mut suite = SUITE.command(workspace);
    suite.env("BOLERO_RANDOM_TEST_TIME_MS", (seconds * 1000).to_string());
    suite.env("BOLERO_RANDOM_ITERATIONS", usize::MAX.to_string());
    Ok(process::run_within(&mut suite, Output::Live, &workspace.target, limit(targets, seconds))?.ok)
}

/// How long a run may take: a machine with one core runs one target after the other.
fn limit(targets: usize, seconds: u64) -> Duration {
    let running = seconds.saturating_mul(u64::try_from(targets).unwrap_or(u64::MAX));
    Duration::from_secs(running.saturating_add(BUILD_SECONDS_MAX))
}

/// What a run of the suite shows. Of a planted fault it is only reported if every target noticed it.
fn report(rule: &'static str, targets: &[String], ran: &Ran) -> Result<Report, Stop> {
    let Ended { passed, failed } = SUITE.ended(targets, ran)?;
    let mut report = Report { lines: vec![format!("{} targets ran", targets.len())], ..Report::default() };
    if rule == SUITE.target || passed.is_empty() {
        let why =
            if rule == SUITE.target { "an input breaks it; see fuzz.log" } else { "it noticed the fault" };
        report.findings.extend(failed.iter().map(|target| Finding::new(rule, *target, why)));
    } else {
        report.lines.extend(passed.iter().map(|target| format!("{target} did not notice `{rule}`")));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_has_time_for_each_target_and_the_build() {
        assert_eq!(limit(9, SECONDS_MAX), Duration::from_secs(9 * SECONDS_MAX + BUILD_SECONDS_MAX));
    }

    #[test]
    fn a_planted_fault_and_a_length_of_the_run_do_not_go_together() {
        let parse = |line: &str| Asked::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(matches!(parse("--seconds 5 --sabotage dropped-byte"), Err(Stop::Usage(_))));
        assert!(matches!(parse("--seconds 0"), Err(Stop::Usage(_))));
        assert_eq!(parse("--seconds 5"), Ok(Asked::Seconds(5)));
        assert_eq!(parse("--sabotage dropped-byte"), Ok(Asked::Sabotage("dropped-byte".into())));
    }

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
        assert_eq!(
            shown(SUITE.target, one).unwrap().findings.len(),
            1,
            "without a fault each failure counts"
        );
    }

    #[test]
    fn targets_that_did_not_run_show_nothing() {
        assert!(shown(SUITE.target, "error: could not compile\n").is_err());
        assert!(shown(SUITE.target, "test a::ends_well ... ok\n").is_err());
    }
}
