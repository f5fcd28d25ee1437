//! The test suites: what compiles and runs, what must not compile, and what the docs show.

use std::collections::BTreeSet;
use std::fmt;

use super::cargo::{WHOLE, command, run};
use super::real_model::{self, Part};
use super::{Count, Job, Verdict};
use crate::process::Output;
use crate::stop::Stop;
use crate::trace::{Test, tests_in};
use crate::workspace::Tree;

/// The runner of suites whose inputs must not compile.
const COMPILE_FAIL_RUNNER: &str = concat!("trybuild::", "TestCases");

/// Every test but the docs' and the compile-fail suites, which are steps of their own. So are the real model's, which
/// are ignored here and counted there.
pub(super) fn test(job: &Job<'_>) -> Result<Verdict, Stop> {
    let tree = job.workspace.tree()?;
    let left_out = match left_out(&tree) {
        Ok(left_out) => left_out,
        Err(clash) => return Ok(Verdict::failed(clash.to_string())),
    };
    let mut cargo = command(job);
    cargo.arg("test").args(WHOLE).args(["--lib", "--bins", "--tests", "--examples", "--no-fail-fast", "--"]);
    let mut verdict = some_tests(job, run(job, cargo.args(left_out))?)?;
    verdict.tests = without_real_model(verdict.tests, &tree);
    Ok(verdict)
}

/// The count without the real model's tests, which their own step counts.
fn without_real_model(tests: Count, tree: &Tree) -> Count {
    let theirs = [Part::Ci, Part::Deep].map(|part| real_model::names(tree, part).len());
    Count { ignored: tests.ignored.saturating_sub(theirs.iter().sum()), ..tests }
}

/// What a test binary is told so that it leaves the compile-fail suites out, and nothing else. The names are whole
/// paths: without `--exact` each would leave out every test whose path has it in it.
fn left_out(tree: &Tree) -> Result<Vec<String>, Clash> {
    let suites = Suites::of(tree);
    let theirs = |test: &Test| target(&test.path).is_some_and(|target| suites.targets.contains(target));
    let (left_out, others): (Vec<Test>, Vec<Test>) =
        tests_in(tree).into_iter().filter(|test| suites.tests.contains(&test.name)).partition(theirs);
    let clash = others.into_iter().find_map(|other| {
        let suite = left_out.iter().find(|test| test.name == other.name)?;
        Some(Clash { suite: suite.place(), other: other.place(), name: other.name })
    });
    if let Some(clash) = clash {
        return Err(clash);
    }
    let skips = suites.tests.into_iter().flat_map(|test| ["--skip".to_owned(), test]);
    Ok(std::iter::once("--exact".to_owned()).chain(skips).collect())
}

/// A test that would be left out for its name, which a test of a compile-fail suite has too.
#[derive(Debug, PartialEq, Eq)]
struct Clash {
    name: String,
    /// Where the one of the suite stands.
    suite: String,
    other: String,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, suite, other } = self;
        write!(f, "{other}: `{name}` would be left out, since {suite} has a test of that name; rename one")
    }
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

    /// A tree with a compile-fail suite of one test.
    fn with_suite(test: &str) -> Tree {
        let mut tree = Tree::new(BTreeMap::new());
        let text = format!("#[test]\nfn {test}() {{ let t = {COMPILE_FAIL_RUNNER}::new(); }}\n");
        tree.plant("crates/a/tests/compile_fail.rs", &text);
        tree
    }

    /// The names stand in this test's own path: in its name, and in the modules it lies in.
    #[test]
    fn a_name_that_begins_with_one_that_is_left_out_runs() {
        for part in ["a_name_that_begins", "suites"] {
            let mut tree = with_suite(part);
            let real = format!("#[test]\n#[ignore = \"x\"]\nfn {part}_with_one() {{}}\n");
            tree.plant("tests/real_model/x.rs", &real);
            let this = std::env::current_exe().unwrap();
            let listed =
                std::process::Command::new(this).arg("--list").args(left_out(&tree).unwrap()).output();
            let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
            assert!(
                listed.contains("suites::tests::a_name_that_begins_with_one_that_is_left_out_runs"),
                "{part}"
            );
        }
        assert_eq!(left_out(&with_suite("forged")).unwrap(), ["--exact", "--skip", "forged"]);
    }

    #[test]
    fn the_real_models_tests_are_not_counted_among_the_ignored() {
        let mut tree = Tree::new(BTreeMap::new());
        let ignored = |name: &str| format!("#[test]\n#[ignore = \"x\"]\nfn {name}() {{}}\n");
        tree.plant("tests/real_model/streams.rs", &ignored("streams"));
        tree.plant("tests/real_model/crowd.rs", &ignored("many"));
        tree.plant("crates/a/tests/child.rs", &ignored("child"));
        let count = |ignored| Count { passed: 4, failed: 1, ignored };
        assert_eq!(without_real_model(count(3), &tree), count(1));
        assert_eq!(without_real_model(count(0), &tree), count(0), "nothing was kept to count");
    }

    #[test]
    fn a_test_with_the_very_name_of_one_that_is_left_out_is_told_with_both_places() {
        let mut tree = with_suite("forged");
        tree.plant("crates/b/src/lib.rs", "#[test]\nfn forged() {}\n");
        let told = left_out(&tree).unwrap_err().to_string();
        assert_eq!(
            told,
            "crates/b/src/lib.rs:2: `forged` would be left out, since crates/a/tests/compile_fail.rs:2 has a test of \
             that name; rename one"
        );
    }

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
