//! A suite of tests that a judge runs by itself, with a fault planted in it or without.

use std::process::Command;

use crate::process::Ran;
use crate::stop::Stop;
use crate::trace::tests_in;
use crate::workspace::{Tree, Workspace, cargo};

/// Where a suite is, and how it is told of a fault.
pub(crate) struct Suite {
    /// The test target.
    pub(crate) target: &'static str,
    pub(crate) folder: &'static str,
    /// The variable that names the fault, read by the suite itself.
    pub(crate) sabotage: &'static str,
}

/// How the tests of a suite ended, each in one list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended<'t> {
    pub(crate) passed: Vec<&'t str>,
    pub(crate) failed: Vec<&'t str>,
}

impl Suite {
    /// The command that runs it, with no fault planted yet.
    pub(crate) fn command(&self, workspace: &Workspace) -> Command {
        let mut cargo = cargo();
        cargo.current_dir(&workspace.root);
        cargo.args(["test", "--workspace", "--all-features", "--test", self.target]);
        cargo.env("CARGO_TERM_PROGRESS_WHEN", "never").env_remove(self.sabotage);
        cargo
    }

    /// The names of its tests.
    pub(crate) fn tests(&self, tree: &Tree) -> Vec<String> {
        let ours = tests_in(tree).into_iter().filter(|test| test.path.starts_with(self.folder));
        ours.map(|test| test.name).collect()
    }

    /// What a run shows; an error where not every test came to an end.
    pub(crate) fn ended<'t>(&self, tests: &'t [String], ran: &Ran) -> Result<Ended<'t>, Stop> {
        let that = |how: &str| -> Vec<&str> {
            let ends = |test: &&str| ran.output.lines().any(|line| is_end(line, test, how));
            tests.iter().map(String::as_str).filter(ends).collect()
        };
        let ended = Ended { passed: that("ok"), failed: that("FAILED") };
        if tests.is_empty() || ended.passed.len() + ended.failed.len() < tests.len() {
            return Err(Stop::Failed(format!("the suite `{}` did not run:\n{}", self.target, ran.output)));
        }
        Ok(ended)
    }
}

/// Whether a line of the harness says that this test, in whatever module, ended so.
fn is_end(line: &str, test: &str, how: &str) -> bool {
    let path = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(how)?.strip_suffix(" ... "));
    path.is_some_and(|path| path == test || path.ends_with(&format!("::{test}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: Suite = Suite { target: "kit", folder: "tests/kit/", sabotage: "SABOTAGE" };

    fn ended(output: &str) -> Option<(usize, Vec<String>)> {
        let tests = ["middleware".to_owned(), "input_middleware".to_owned()];
        let ran = Ran { output: output.to_owned(), ..Ran::default() };
        let ended = SUITE.ended(&tests, &ran).ok()?;
        Some((ended.passed.len(), ended.failed.into_iter().map(str::to_owned).collect()))
    }

    #[test]
    fn a_test_whose_name_ends_as_anothers_does_is_not_taken_for_it() {
        let output = "test a::middleware ... FAILED\ntest input_middleware ... ok\n";
        assert_eq!(ended(output), Some((1, vec!["middleware".to_owned()])));
        assert_eq!(ended("test input_middleware ... FAILED\n"), None, "the other did not run");
    }

    #[test]
    fn a_suite_that_did_not_run_shows_nothing() {
        assert_eq!(ended("error: could not compile\n"), None);
        assert!(SUITE.ended(&[], &Ran::default()).is_err());
    }
}
