//! Crates outside the workspace that use only what is public: each tested where it lies, against the packed crates and
//! never against paths into the tree.

use std::path::{Path, PathBuf};

use super::packages::Packages;
use super::{Job, Verdict, cargo};
use crate::scaffold;
use crate::stop::{During, Stop};

const FOLDER: &str = "tests/strangers";
/// The crate that is made anew, to see that what the scaffold writes builds and passes its kit.
const SCAFFOLDED: &str = "scaffolded";

/// What each stranger has to pass.
const STYLE: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
const TESTS: &[&str] = &["test", "--workspace", "--no-fail-fast"];

pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    let crates = found(&job.workspace.root.join(FOLDER))?;
    if crates.is_empty() {
        return Ok(Verdict::failed(format!("no crate found in {FOLDER}")));
    }
    let packages = match Packages::pack(job)? {
        Ok(packages) => packages,
        Err(failed) => return Ok(failed),
    };
    let target = job.workspace.target.join("strangers");
    let mut whole = Verdict { ok: true, ..Verdict::default() };
    for path in crates {
        for words in [STYLE, TESTS] {
            join(&mut whole, stranger(job, &path, words, &target)?, &path, words);
        }
    }
    let scaffolded = job.workspace.target.join("xtask").join(SCAFFOLDED);
    if scaffolded.exists() {
        std::fs::remove_dir_all(&scaffolded).during("removing the crate that was scaffolded before")?;
    }
    let made = scaffold::middleware(SCAFFOLDED, &job.workspace.target.join("xtask"), Some(&packages.folder));
    made.during("scaffolding a middleware")?;
    for words in [STYLE, LINTS, TESTS] {
        join(&mut whole, stranger(job, &scaffolded, words, &target)?, &scaffolded, words);
    }
    Ok(whole)
}

/// One cargo command in one stranger's folder.
fn stranger(job: &Job<'_>, path: &Path, words: &[&str], target: &Path) -> Result<Verdict, Stop> {
    let mut command = cargo::command(job);
    command.current_dir(path);
    if words == STYLE {
        command.args(words).args(["--", "--color", cargo::color(job)]);
    } else {
        command.args(words);
    }
    command
        .env("CARGO_TARGET_DIR", target)
        // A stranger's manifest has no profile of ours; the same one keeps the shared folder small.
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo::run(job, &mut command)
}

fn join(whole: &mut Verdict, one: Verdict, path: &Path, words: &[&str]) {
    whole.tests += one.tests;
    if !one.ok {
        whole.ok = false;
        whole.told.push_str(&format!("{}: {}\n{}\n", path.display(), words.join(" "), one.told));
    }
}

fn found(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let mut crates = Vec::new();
    for entry in folder.read_dir().into_iter().flatten() {
        let path = entry.during("listing the strangers")?.path();
        if path.join("Cargo.toml").is_file() {
            crates.push(path);
        }
    }
    crates.sort();
    Ok(crates)
}
