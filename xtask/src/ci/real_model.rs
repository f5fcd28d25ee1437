//! The suite against a small real model, which is brought up for it and taken down after it.
//!
//! A machine on which the server cannot be installed, for want of Python, network or the packages, skips it and says
//! why; the run's closing line tells which of the two it was, and `--strict` lets no skip pass. A server that is
//! installed and does not start, or cannot be leased, is a failure in every run.

use std::process::Command;
use std::time::Duration;

use super::cargo::{self, WHOLE, command, log};
use super::{Count, Job, Verdict};
use crate::finding::{Finding, Report};
use crate::model::Lease;
use crate::process::{Output, Ran, run_within};
use crate::stop::Stop;
use crate::trace::{Test, tests_in};
use crate::workspace::{Tree, Workspace};

/// Where the suite finds the server; a test of it that is started without one fails.
const URL: &str = "LOOM_REAL_MODEL_URL";
const TARGET: &str = "real_model";
const FOLDER: &str = "tests/real_model/";
/// The file of what is too long for `ci`, and what its tests' paths begin with.
const DEEP_FILE: &str = "tests/real_model/crowd.rs";
const DEEP_MODULE: &str = "crowd::";
/// The suite takes well under 90 s where the model decodes 6 tokens a second.
const SUITE_SECONDS_MAX: u64 = 300;
/// Calls by the dozen that one slot answers one after the other.
const DEEP_SECONDS_MAX: u64 = 600;

/// Which of the suite's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Those of a green run.
    Ci,
    /// Those that only `deep` has time for.
    Deep,
}

/// What became of the suite.
#[derive(Clone, Debug)]
enum Ending {
    /// There can be no model here, and why.
    Skipped(String),
    /// There should be a server, and why there is none.
    NoServer(String),
    /// It ran.
    Ran(Ran),
}

pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    match job.sabotage {
        Some(_) => super::judged(job),
        None => run_part(job, Part::Ci),
    }
}

pub(super) fn run_part(job: &Job<'_>, part: Part) -> Result<Verdict, Stop> {
    let expected = names(&job.workspace.tree()?, part).len();
    let mut build = suite(job);
    let built = cargo::run(job, build.arg("--no-run"))?;
    if !built.ok {
        return Ok(Verdict { closing: Some(closing("failed: the suite does not build")), ..built });
    }
    eprintln!("real model: bringing a server up");
    let ending = match Lease::take(&job.workspace.target) {
        Err(stop) => Ending::without_server(&stop),
        Ok(lease) => {
            eprintln!("real model: {expected} tests against {}", lease.base_url());
            let (module, limit) = match part {
                Part::Ci => (["--skip", DEEP_MODULE].as_slice(), SUITE_SECONDS_MAX),
                Part::Deep => ([DEEP_MODULE].as_slice(), DEEP_SECONDS_MAX),
            };
            let mut command = suite(job);
            // The server has one slot: tests side by side would wait for one another.
            command.args(["--", "--ignored", "--test-threads", "1"]).args(module);
            command.env(URL, lease.base_url());
            let ran = run_within(&mut command, Output::Kept, &log(job), Duration::from_secs(limit))?;
            Ending::Ran(ran)
        }
    };
    Ok(ending.verdict(expected, job.strict))
}

fn suite(job: &Job<'_>) -> Command {
    let mut cargo = command(job);
    cargo.arg("test").args(WHOLE).args(["--test", TARGET]);
    cargo
}

/// The names of the suite's tests, all of which are ignored without a model.
pub(super) fn names(tree: &Tree, part: Part) -> Vec<String> {
    let ours = |test: &Test| {
        let deep = test.path == DEEP_FILE;
        test.ignored && test.path.starts_with(FOLDER) && deep == (part == Part::Deep)
    };
    tests_in(tree).into_iter().filter(ours).map(|test| test.name).collect()
}

impl Ending {
    /// Only what cannot be installed is skipped.
    fn without_server(stop: &Stop) -> Self {
        let reason = stop.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        match stop {
            Stop::Unavailable(_) => Self::Skipped(reason),
            Stop::Usage(_) | Stop::Failed(_) => Self::NoServer(reason),
        }
    }

    /// The verdict on a suite that has `expected` tests in its files.
    fn verdict(self, expected: usize, strict: bool) -> Verdict {
        let ran = match self {
            Self::Skipped(reason) => {
                let tests = Count { ignored: expected, ..Count::default() };
                let ending = closing(format_args!("skipped: {reason}"));
                let told =
                    if strict { format!("{ending}; a strict run wants it run\n") } else { String::new() };
                return Verdict { ok: !strict, told, tests, closing: Some(ending) };
            }
            Self::NoServer(reason) => {
                let ending = closing(format_args!("failed: no server: {reason}"));
                return Verdict { closing: Some(ending.clone()), ..Verdict::failed(ending + "\n") };
            }
            Self::Ran(ran) => ran,
        };
        let tests = Count::read(&ran.output);
        let fault = if ran.overdue {
            Some("failed: it did not end in time".to_owned())
        } else if tests.failed > 0 {
            Some(format!("{} passed, {} failed", tests.passed, tests.failed))
        } else if !ran.ok {
            Some("failed: it ended with an error".to_owned())
        } else if tests.passed == 0 {
            Some("failed: no test ran".to_owned())
        } else if tests.passed != expected {
            Some(format!("failed: {} passed of the {expected} tests there are", tests.passed))
        } else {
            None
        };
        let ok = fault.is_none();
        let ending = closing(fault.unwrap_or_else(|| format!("{} passed", tests.passed)));
        Verdict { ok, told: ran.output, tests, closing: Some(ending) }
    }
}

fn closing(what: impl std::fmt::Display) -> String {
    format!("real model: {what}")
}

/// Ends of a suite of two tests that must not be taken for green: the name, how it ended, its output. The skip passes
/// unless the run is strict; of the others no run takes any.
const BAD_ENDS: [(&str, End, &str); 6] = [
    ("swallowed-skip", End::Skip, "pip install failed"),
    ("dead-server", End::NoServer, "the model server ended with exit status: 1"),
    (
        "no-test-ran",
        End::Well,
        "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out\n",
    ),
    ("lost-test", End::Well, "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 8 filtered out\n"),
    ("failed-test", End::Badly, "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n"),
    ("hung-suite", End::Overdue, "test streams::usage ... "),
];

/// What such a suite that ended well writes.
const GOOD_END: &str = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out\n";

#[derive(Clone, Copy)]
enum End {
    Skip,
    NoServer,
    Well,
    Badly,
    Overdue,
}

pub(crate) fn sabotages() -> Vec<&'static str> {
    BAD_ENDS.iter().map(|(name, _, _)| *name).collect()
}

/// Judges the end of a suite that ran well, or one of the bad ends in its place: a skip as a strict run does, any other
/// as a run that is not.
pub(crate) fn judge_in_memory(_: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let (name, end, output) = match sabotage {
        None => ("real-model", End::Well, GOOD_END),
        Some(name) => *BAD_ENDS
            .iter()
            .find(|(bad, _, _)| *bad == name)
            .ok_or_else(|| Stop::Usage(format!("real-model knows no sabotage `{name}`")))?,
    };
    let (ok, overdue) = (matches!(end, End::Well), matches!(end, End::Overdue));
    let ending = match end {
        End::Skip => Ending::without_server(&Stop::Unavailable(output.to_owned())),
        End::NoServer => Ending::without_server(&Stop::failed(output)),
        _ => Ending::Ran(Ran { ok, overdue, output: output.to_owned(), ..Ran::default() }),
    };
    let verdict = ending.verdict(2, matches!(end, End::Skip));
    let told = verdict.closing.unwrap_or_default();
    let findings = if verdict.ok { Vec::new() } else { vec![Finding::new(name, "tests/real_model", told)] };
    Ok(Report { findings, ..Report::default() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn ended(ok: bool, overdue: bool, output: &str) -> (bool, String) {
        let ran = Ran { ok, overdue, output: output.to_owned(), ..Ran::default() };
        let verdict = Ending::Ran(ran).verdict(2, false);
        (verdict.ok, verdict.closing.unwrap())
    }

    #[test]
    fn a_suite_is_green_only_if_all_the_tests_there_are_passed() {
        assert_eq!(ended(true, false, GOOD_END), (true, "real model: 2 passed".into()));
        let none = "test result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(ended(true, false, none), (false, "real model: failed: no test ran".into()));
        assert_eq!(ended(true, false, ""), (false, "real model: failed: no test ran".into()));
        let one = "test result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(
            ended(true, false, one),
            (false, "real model: failed: 1 passed of the 2 tests there are".into())
        );
        let bad = "test result: FAILED. 1 passed; 1 failed; 0 ignored\n";
        assert_eq!(ended(false, false, bad), (false, "real model: 1 passed, 1 failed".into()));
        assert_eq!(
            ended(false, false, GOOD_END),
            (false, "real model: failed: it ended with an error".into())
        );
        assert_eq!(
            ended(false, true, GOOD_END),
            (false, "real model: failed: it did not end in time".into())
        );
    }

    #[test]
    fn a_skip_says_why_on_one_line_and_passes_unless_the_run_is_strict() {
        for strict in [false, true] {
            let lack = Stop::Unavailable("pip install failed:\n  no network".into());
            let verdict = Ending::without_server(&lack).verdict(2, strict);
            assert_eq!(verdict.ok, !strict);
            assert_eq!(verdict.tests, Count { ignored: 2, ..Count::default() });
            assert_eq!(verdict.closing.unwrap(), "real model: skipped: pip install failed: no network");
        }
    }

    #[test]
    fn a_server_that_is_installed_and_not_there_fails_a_run_that_is_not_strict_too() {
        for strict in [false, true] {
            let verdict = Ending::without_server(&Stop::failed("the model server ended")).verdict(2, strict);
            assert!(!verdict.ok && verdict.tests == Count::default());
            assert_eq!(verdict.closing.unwrap(), "real model: failed: no server: the model server ended");
        }
    }

    #[test]
    fn the_tests_of_the_suite_are_told_apart_by_their_file() {
        let mut tree = Tree::new(BTreeMap::new());
        let test = |name: &str, ignore: &str| format!("#[test]\n{ignore}fn {name}() {{}}\n");
        let ignore = "#[ignore = \"needs a real model\"]\n";
        let both = test("streams", ignore) + &test("needs_none", "");
        tree.plant("tests/real_model/streams.rs", &both);
        tree.plant(DEEP_FILE, &test("many", ignore));
        tree.plant("tests/scenarios/other.rs", &test("other", ignore));
        assert_eq!(names(&tree, Part::Ci), ["streams"]);
        assert_eq!(names(&tree, Part::Deep), ["many"]);
    }
}
