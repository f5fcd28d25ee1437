//! The concurrency models: tests in files that use the schedule explorer `shuttle`. They run with the other tests, and
//! longer in `deep`.

use super::cargo::{WHOLE, command, run as run_cargo};
use super::{Job, Verdict};
use crate::stop::Stop;
use crate::trace::tests_in;
use crate::workspace::Tree;

/// How many schedules each model explores, read by the models themselves.
const ITERATIONS: &str = "LOOM_SHUTTLE_ITERATIONS";

pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    let models = models(&job.workspace.tree()?);
    if models.is_empty() {
        return Ok(Verdict::failed("no model found; expected tests in a file that uses shuttle"));
    }
    Ok(Verdict { ok: true, told: "the models ran with the tests".into(), ..Verdict::default() })
}

/// All of them with so many schedules each, in place of the models' own number.
pub(super) fn run_longer(job: &Job<'_>, iterations: &str) -> Result<Verdict, Stop> {
    let mut cargo = command(job);
    cargo.arg("test").args(WHOLE).args(["--lib", "--tests", "--"]).args(models(&job.workspace.tree()?));
    run_cargo(job, cargo.env(ITERATIONS, iterations))
}

/// The names of the models.
fn models(tree: &Tree) -> Vec<String> {
    let uses_explorer = |path: &str| {
        path.starts_with("crates/")
            && tree
                .sources
                .get(path)
                .is_some_and(|lines| lines.iter().any(|line| line.code.contains("shuttle::")))
    };
    tests_in(tree).iter().filter(|test| uses_explorer(&test.path)).map(|test| test.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_file_that_uses_the_explorer_are_models() {
        let mut tree = Tree::new(std::collections::BTreeMap::new());
        tree.plant("crates/a/tests/gate.rs", "use shuttle::thread;\n#[test]\nfn model() {}");
        tree.plant("crates/a/tests/other.rs", "// shuttle:: in a comment\n#[test]\nfn other() {}");
        assert_eq!(models(&tree), ["model"]);
    }
}
