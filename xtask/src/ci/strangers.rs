//! Crates outside the workspace that use only what is public, each tested where it lies.

use super::{Job, Verdict, cargo};
use crate::stop::{During, Stop};

const FOLDER: &str = "tests/strangers";

pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    let folder = job.workspace.root.join(FOLDER);
    let mut crates = Vec::new();
    for entry in folder.read_dir().into_iter().flatten() {
        let path = entry.during("listing the strangers")?.path();
        if path.join("Cargo.toml").is_file() {
            crates.push(path);
        }
    }
    crates.sort();
    if crates.is_empty() {
        return Ok(Verdict::failed(format!("no crate found in {FOLDER}")));
    }
    let mut whole = Verdict { ok: true, ..Verdict::default() };
    for path in crates {
        let style = ["fmt", "--check", "--", "--color", cargo::color(job)];
        for words in [style.as_slice(), &["test", "--no-fail-fast"]] {
            let mut command = cargo::command(job);
            command
                .current_dir(&path)
                .args(words)
                .env("CARGO_TARGET_DIR", job.workspace.target.join("strangers"))
                // A stranger's manifest has no profile of ours; the same one keeps the shared folder small.
                .env("CARGO_PROFILE_DEV_DEBUG", "0");
            let one = cargo::run(job, &mut command)?;
            whole.tests += one.tests;
            if !one.ok {
                whole.ok = false;
                whole.told.push_str(&format!("{}: {}\n{}\n", path.display(), words.join(" "), one.told));
            }
        }
    }
    Ok(whole)
}
