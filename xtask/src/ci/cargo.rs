//! Steps that are one cargo command.
//!
//! All of them take `--workspace --all-features` and the dev profile: cargo then unifies the dependencies' features
//! in one way only, and each dependency is compiled once to check against and once to link.

use std::path::PathBuf;
use std::process::Command;

use super::{Count, Job, Verdict};
use crate::process::{self, Output};
use crate::stop::Stop;
use crate::workspace::cargo;

/// What every command over the whole workspace selects.
pub(super) const WHOLE: [&str; 2] = ["--workspace", "--all-features"];

pub(super) fn fmt(job: &Job<'_>) -> Result<Verdict, Stop> {
    run(job, command(job).args(["fmt", "--all", "--check", "--", "--color", color(job)]))
}

pub(super) fn clippy(job: &Job<'_>) -> Result<Verdict, Stop> {
    run(job, command(job).arg("clippy").args(WHOLE).args(["--all-targets", "--", "-D", "warnings"]))
}

pub(super) fn docs(job: &Job<'_>) -> Result<Verdict, Stop> {
    run(job, command(job).arg("doc").args(WHOLE).arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings"))
}

/// What rustfmt is told of colours, which it does not read from cargo's settings.
pub(super) fn color(job: &Job<'_>) -> &'static str {
    match job.output {
        Output::Live => "auto",
        Output::Kept => "never",
    }
}

/// Cargo at the root; quiet of progress where its output is kept.
pub(super) fn command(job: &Job<'_>) -> Command {
    let mut command = cargo();
    command.current_dir(&job.workspace.root);
    if job.output == Output::Kept {
        command.env("CARGO_TERM_PROGRESS_WHEN", "never");
    }
    command
}

/// Runs it to its end and counts the tests that its output closes on.
pub(super) fn run(job: &Job<'_>, command: &mut Command) -> Result<Verdict, Stop> {
    let ran = process::run(command, job.output, &log(job))?;
    Ok(Verdict { ok: ran.ok, tests: Count::read(&ran.output), told: ran.output, closing: None })
}

/// Where a step's output is kept.
pub(super) fn log(job: &Job<'_>) -> PathBuf {
    job.workspace.target.join("xtask").join(format!("{}.log", job.name))
}
