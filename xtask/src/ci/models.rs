//! The concurrency models: tests that compile only with `--cfg loom_shuttle`, where every lock and atomic is
//! a scheduler's.

use std::collections::BTreeSet;

use super::{Job, Verdict, cargo};
use crate::stop::Stop;
use crate::workspace::{Tree, text};

/// The flag that puts the scheduler's primitives in place.
const CFG: &str = "loom_shuttle";
/// How many schedules each model explores, read by the models themselves.
const ITERATIONS: &str = "LOOM_SHUTTLE_ITERATIONS";

pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    run_for(job, None)
}

/// The same with a number of schedules that replaces the models' own.
pub(super) fn run_for(job: &Job<'_>, iterations: Option<&str>) -> Result<Verdict, Stop> {
    let modelled = modelled(&job.workspace.tree()?);
    let names = job.workspace.packages().filter(|package| {
        let manifest = text(package, "manifest_path");
        modelled.iter().any(|folder| manifest.ends_with(&format!("/{folder}/Cargo.toml")))
    });
    let names: Vec<&str> = names.map(|package| text(package, "name")).collect();
    if names.is_empty() {
        return Ok(Verdict::idle(format!("no crate has a model behind cfg({CFG})")));
    }
    let mut command = cargo::command(job);
    command.args(["test", "--lib", "--tests", "--no-fail-fast"]);
    for name in names {
        command.args(["--package", name]);
    }
    command
        .arg("shuttle")
        .env("RUSTFLAGS", format!("--cfg {CFG}"))
        // Other flags would make cargo build every dependency anew in the shared folder, back and forth.
        .env("CARGO_TARGET_DIR", job.workspace.target.join("shuttle"));
    if let Some(iterations) = iterations {
        command.env(ITERATIONS, iterations);
    }
    cargo::run(job, &mut command)
}

/// The folders of the crates whose code asks for the flag.
fn modelled(tree: &Tree) -> BTreeSet<String> {
    let asks = tree.sources.iter().filter(|(path, lines)| {
        path.starts_with("crates/") && lines.iter().any(|line| line.code.contains(&format!("({CFG})")))
    });
    asks.map(|(path, _)| path.split('/').take(2).collect::<Vec<_>>().join("/")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_crate_is_modelled_where_its_code_asks_for_the_flag() {
        let mut tree = Tree::new(BTreeMap::new());
        tree.plant("crates/a/src/lock.rs", "#[cfg(loom_shuttle)]\nuse shuttle::sync::Mutex;");
        tree.plant("crates/b/src/lib.rs", "// cfg(loom_shuttle)\n");
        assert_eq!(modelled(&tree), BTreeSet::from(["crates/a".to_owned()]));
    }
}
