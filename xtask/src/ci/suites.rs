//! The test suites: what compiles and runs, what must not compile, and what the docs show.

use std::collections::BTreeSet;

use super::cargo::{WHOLE, command, run};
use super::real_model::{self, Part};
use super::{Job, Verdict};
use crate::process::Output;
use crate::stop::Stop;
use crate::trace::tests_in;
use crate::workspace::Tree;

/// The runner of suites whose inputs must not compile.
const COMPILE_FAIL_RUNNER: &str = concat!("trybuild::", "TestCases");

/// Every test but the docs', the compile-fail suites and the real model's, which are steps of their own.
pub(super) fn test(job: &Job<'_>) -> Result<Verdict, Stop> {
    let tree = job.workspace.tree()?;
    let mut suites = Suites::of(&tree);
    suites.tests.extend([Part::Ci, Part::Deep].into_iter().flat_map(|part| real_model::names(&tree, part)));
    let mut cargo = command(job);
    cargo.arg("test").args(WHOLE).args(["--lib", "--bins", "--tests", "--examples", "--no-fail-fast", "--"]);
    for test in &suites.tests {
        cargo.args(["--skip", test]);
    }
    some_tests(job, run(job, &mut cargo)?)
}

/// The suites whose inputs must not compile, each with its twins that do.
pub(super) fn compile_fail(job: &Job<'_>) -> Result<Verdict, Stop> {
    let suites = Suites::of(&job.workspace.tree()?);
    if suites.targets.is_empty() {
        return Ok(Verdict::failed("no compile-fail suite found; expected one in crates/*/tests"));
    }
    let mut cargo = command(job);
    cargo.arg("test").args(WHOLE).arg("--no-fail-fast");
    for target in &suites.targets {
        cargo.args(["--test", target]);
    }
    cargo.arg("--").args(&suites.tests);
    some_tests(job, run(job, &mut cargo)?)
}

pub(super) fn doc_test(job: &Job<'_>) -> Result<Verdict, Stop> {
    some_tests(job, run(job, command(job).arg("test").args(WHOLE).args(["--doc", "--no-fail-fast"]))?)
}

/// A suite that ran nothing shows nothing.
fn some_tests(job: &Job<'_>, verdict: Verdict) -> Result<Verdict, Stop> {
    if verdict.ok && job.output == Output::Kept && verdict.tests.passed == 0 {
        return Ok(Verdict { ok: false, told: format!("{}\nno test ran\n", verdict.told), ..verdict });
    }
    Ok(verdict)
}

/// The compile-fail suites: test targets of the workspace, and the functions in them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Suites {
    targets: BTreeSet<String>,
    tests: BTreeSet<String>,
}

impl Suites {
    fn of(tree: &Tree) -> Self {
        let mut suites = Self::default();
        let all = tests_in(tree);
        for (path, lines) in &tree.sources {
            let Some(target) = target(path) else { continue };
            if lines.iter().any(|line| line.code.contains(COMPILE_FAIL_RUNNER)) {
                suites.targets.insert(target.to_owned());
                suites
                    .tests
                    .extend(all.iter().filter(|test| test.path == *path).map(|test| test.name.clone()));
            }
        }
        suites
    }
}

/// The test target a file is the root of, or part of: `crates/NAME/tests/TARGET.rs` or `…/TARGET/….rs`.
fn target(path: &str) -> Option<&str> {
    let (package, file) = path.split_once("/tests/")?;
    if !package.starts_with("crates/") && package != "tests" {
        return None;
    }
    let first = file.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn compile_fail_suites_are_found_by_their_runner() {
        let mut tree = Tree::new(BTreeMap::new());
        let suite = format!("#[test]\nfn forged() {{ let t = {COMPILE_FAIL_RUNNER}::new(); }}\n");
        tree.plant("crates/a/tests/must_not_compile.rs", &suite);
        tree.plant("crates/a/tests/other.rs", "#[test]\nfn x() {}\n");
        tree.plant("xtask/src/y.rs", &suite);
        let suites = Suites::of(&tree);
        assert_eq!(suites.targets, BTreeSet::from(["must_not_compile".to_owned()]));
        assert_eq!(suites.tests, BTreeSet::from(["forged".to_owned()]));
    }
}
