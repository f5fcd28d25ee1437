//! The concurrency models: tests in files that use the schedule explorer `shuttle`.
//!
//! A crate that swaps its own locks and atomics behind `--cfg loom_shuttle` is built once more for its models; the
//! models of any other crate are ordinary tests, which run with the rest and only longer in `deep`.

use std::collections::{BTreeMap, BTreeSet};

use super::cargo::{WHOLE, command, run as run_cargo};
use super::{Job, Verdict};
use crate::stop::Stop;
use crate::trace::tests_in;
use crate::workspace::{Tree, text};

/// The flag that puts the explorer's primitives in place.
const CFG: &str = "loom_shuttle";
/// How many schedules each model explores, read by the models themselves.
const ITERATIONS: &str = "LOOM_SHUTTLE_ITERATIONS";

pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    let models = Models::of(&job.workspace.tree()?);
    if models.tests.is_empty() {
        return Ok(Verdict::failed("no model found; expected tests in a file that uses shuttle"));
    }
    if models.gated.is_empty() {
        return Ok(Verdict { ok: true, told: "the models ran with the tests".into(), ..Verdict::default() });
    }
    run_gated(job, &models, None)
}

/// All of them with so many schedules each, in place of the models' own number.
pub(super) fn run_longer(job: &Job<'_>, iterations: &str) -> Result<Verdict, Stop> {
    let models = Models::of(&job.workspace.tree()?);
    let plain: Vec<&String> = models.names(|folder| !models.gated.contains(folder)).collect();
    let mut verdict = Verdict { ok: true, ..Verdict::default() };
    if !plain.is_empty() {
        let mut cargo = command(job);
        cargo
            .arg("test")
            .args(WHOLE)
            .args(["--lib", "--tests", "--"])
            .args(plain)
            .env(ITERATIONS, iterations);
        verdict = run_cargo(job, &mut cargo)?;
    }
    if !models.gated.is_empty() {
        verdict.ok &= run_gated(job, &models, Some(iterations))?.ok;
    }
    Ok(verdict)
}

fn run_gated(job: &Job<'_>, models: &Models, iterations: Option<&str>) -> Result<Verdict, Stop> {
    let mut cargo = command(job);
    cargo.args(["test", "--lib", "--tests", "--no-fail-fast"]);
    for package in job.workspace.packages() {
        let manifest = text(package, "manifest_path");
        if models.gated.iter().any(|folder| manifest.ends_with(&format!("/{folder}/Cargo.toml"))) {
            cargo.args(["--package", text(package, "name")]);
        }
    }
    cargo.arg("--").args(models.names(|folder| models.gated.contains(folder)));
    cargo
        .env("RUSTFLAGS", format!("--cfg {CFG}"))
        // Other flags in the shared folder would make cargo build every dependency anew, back and forth.
        .env("CARGO_TARGET_DIR", job.workspace.target.join("shuttle"));
    if let Some(iterations) = iterations {
        cargo.env(ITERATIONS, iterations);
    }
    run_cargo(job, &mut cargo)
}

/// Which crates have models, and which of those are built with the flag.
#[derive(Debug, PartialEq, Eq)]
struct Models {
    /// Crate folder to the names of its models.
    tests: BTreeMap<String, Vec<String>>,
    gated: BTreeSet<String>,
}

impl Models {
    fn of(tree: &Tree) -> Self {
        let mut models = Self { tests: BTreeMap::new(), gated: BTreeSet::new() };
        let all = tests_in(tree);
        for (path, lines) in tree.sources.iter().filter(|(path, _)| path.starts_with("crates/")) {
            let folder: String = path.split('/').take(2).collect::<Vec<_>>().join("/");
            if lines.iter().any(|line| line.code.contains(&format!("({CFG})"))) {
                models.gated.insert(folder.clone());
            }
            if lines.iter().any(|line| line.code.contains("shuttle::")) {
                let names: Vec<String> =
                    all.iter().filter(|test| test.path == *path).map(|t| t.name.clone()).collect();
                if !names.is_empty() {
                    models.tests.entry(folder).or_default().extend(names);
                }
            }
        }
        models
    }

    fn names(&self, of: impl Fn(&String) -> bool) -> impl Iterator<Item = &String> {
        self.tests.iter().filter(move |(folder, _)| of(folder)).flat_map(|(_, names)| names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_the_tests_of_files_that_use_the_explorer() {
        let mut tree = Tree::new(BTreeMap::new());
        tree.plant("crates/a/src/lock.rs", "#[cfg(loom_shuttle)]\nuse shuttle::sync::Mutex;");
        tree.plant("crates/a/tests/races.rs", "#[test]\nfn writers_race() { shuttle::check_random(f, 9); }");
        tree.plant("crates/b/tests/model.rs", "#[test]\nfn closes() { shuttle::check_random(f, 9); }");
        tree.plant(
            "crates/b/src/lib.rs",
            "// cfg(loom_shuttle) and shuttle:: in a comment\n#[test]\nfn other() {}",
        );
        let models = Models::of(&tree);
        assert_eq!(models.gated, BTreeSet::from(["crates/a".to_owned()]));
        assert_eq!(models.names(|_| true).collect::<Vec<_>>(), ["writers_race", "closes"]);
    }
}
