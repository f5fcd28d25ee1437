//! The conformance kits: each passes its well-made subject, and notices the fault that is planted in it. They are tests
//! of the suite `kit`, which runs with the other tests too.

use std::process::Command;

use crate::finding::{Finding, Report};
use crate::process::{self, Output, Ran};
use crate::stop::Stop;
use crate::trace::tests_in;
use crate::workspace::{Tree, Workspace, cargo};

const TARGET: &str = "kit";
const FOLDER: &str = "crates/loom-testing/tests/kit/";
/// The fault that the suite plants, read by the suite itself.
const SABOTAGE: &str = "LOOM_KIT_SABOTAGE";
/// Each fault, and the one test that shall fail of it.
const FAULTS: [(&str, &str); 9] = [
    ("fails-open", "authorizer"),
    ("keeps-resets", "sink"),
    ("kept-state", "validator"),
    ("leaked-permit", "middleware"),
    ("no-op-form", "output_middleware"),
    ("panics-on-json", "input_middleware"),
    ("retries-refusal", "around_calls"),
    ("split-dependent", "guard"),
    ("text-twice", "effect"),
];

pub(crate) fn sabotages() -> Vec<&'static str> {
    FAULTS.iter().map(|(name, _)| *name).collect()
}

/// Runs the suite, with one fault planted in it if one is named.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let planted = sabotage.map(fault).transpose()?;
    let mut suite = suite(workspace);
    suite.envs(planted.map(|(name, _)| (SABOTAGE, name)));
    let log = workspace.target.join("xtask").join("kit.log");
    report(planted, &tests(&workspace.tree()?), &process::run(&mut suite, Output::Kept, &log)?)
}

fn fault(name: &str) -> Result<(&'static str, &'static str), Stop> {
    let known = FAULTS.into_iter().find(|(known, _)| *known == name);
    known.ok_or_else(|| Stop::Usage(format!("kit knows no sabotage `{name}`")))
}

fn suite(workspace: &Workspace) -> Command {
    let mut cargo = cargo();
    cargo.current_dir(&workspace.root).args(["test", "--workspace", "--all-features", "--test", TARGET]);
    cargo.env("CARGO_TERM_PROGRESS_WHEN", "never").env_remove(SABOTAGE);
    cargo
}

/// The names of the suite's tests.
fn tests(tree: &Tree) -> Vec<String> {
    let ours = tests_in(tree).into_iter().filter(|test| test.path.starts_with(FOLDER));
    ours.map(|test| test.name).collect()
}

/// What a run of the suite shows. A planted fault is only reported if its own test failed and no other did.
fn report(
    planted: Option<(&'static str, &'static str)>,
    tests: &[String],
    ran: &Ran,
) -> Result<Report, Stop> {
    let ended = |how: &str| -> Vec<&String> {
        let ends = |test: &&String| ran.output.lines().any(|line| is_end(line, test, how));
        tests.iter().filter(ends).collect()
    };
    let failed = ended("FAILED");
    if tests.is_empty() || failed.len() + ended("ok").len() < tests.len() {
        return Err(Stop::Failed(format!("the kits did not run:\n{}", ran.output)));
    }
    let mut report = Report { lines: vec![format!("{} kits ran", tests.len())], ..Report::default() };
    match planted {
        Some((name, test)) if failed == [test] => {
            report.findings.push(Finding::new(name, test, "its kit noticed the fault"));
        }
        Some((name, test)) => {
            report.lines.push(format!("`{name}` is {test}'s to notice; failed: {failed:?}"))
        }
        None => {
            let found =
                |test: &String| Finding::new(TARGET, test, "the kit finds fault with a well-made subject");
            report.findings.extend(failed.into_iter().map(found));
        }
    }
    Ok(report)
}

/// Whether a line of the harness says that this test, in whatever module, ended so.
fn is_end(line: &str, test: &str, how: &str) -> bool {
    let path = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(how)?.strip_suffix(" ... "));
    path.is_some_and(|path| path == test || path.ends_with(&format!("::{test}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDDLEWARE: &str = "middleware";

    fn shown(planted: Option<&str>, output: &str) -> Result<Report, Stop> {
        let tests = [MIDDLEWARE.to_owned(), "input_middleware".to_owned()];
        let planted = planted.map(|name| fault(name).unwrap());
        report(planted, &tests, &Ran { output: output.to_owned(), ..Ran::default() })
    }

    #[test]
    fn a_fault_counts_as_reported_where_its_own_kit_and_no_other_noticed_it() {
        let own = "test calls::middleware ... FAILED\ntest calls::input_middleware ... ok\n";
        assert_eq!(shown(Some("leaked-permit"), own).unwrap().findings.len(), 1);
        let other = "test calls::middleware ... ok\ntest calls::input_middleware ... FAILED\n";
        assert_eq!(shown(Some("leaked-permit"), other).unwrap().findings, []);
        let both = "test calls::middleware ... FAILED\ntest calls::input_middleware ... FAILED\n";
        assert_eq!(shown(Some("leaked-permit"), both).unwrap().findings, []);
        assert_eq!(shown(None, both).unwrap().findings.len(), 2, "without a fault each failure counts");
    }

    #[test]
    fn a_suite_that_did_not_run_shows_nothing() {
        assert!(shown(None, "error: could not compile\n").is_err());
        assert!(shown(Some("leaked-permit"), "test calls::middleware ... FAILED\n").is_err());
    }

    #[test]
    fn every_fault_has_a_test_of_its_own_and_every_test_a_fault() {
        let tests = tests(&Workspace::find().unwrap().tree().unwrap());
        let mut owners: Vec<&str> = FAULTS.iter().map(|(_, test)| *test).collect();
        owners.sort_unstable();
        let mut tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        tests.sort_unstable();
        assert_eq!(owners, tests);
    }
}
