//! The public interfaces against those of the last release, by cargo-semver-checks. It is part of `deep`: the tool takes
//! minutes to install, and it documents each library twice.

use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::Value;

use crate::args::{Args, Grammar};
use crate::process::{self, Output, Ran};
use crate::stop::{During, Stop};
use crate::terminal::say;
use crate::tools::Tool;
use crate::workspace::{Workspace, is_published, text};

const TOOL: Tool = Tool { name: "cargo-semver-checks", version: "0.51.0" };
/// With this the tool ends where an interface changed more than its version says; with others, where it did not judge.
const CHANGED: i32 = 100;

/// How long the comparison may take: the first one compiles what each library depends on, twice.
const SECONDS_MAX: u64 = 60 * 60;

/// What the interfaces are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Baseline {
    /// The last release: a change that its version does not allow is a fault.
    Release(String),
    /// The commit before, as long as nothing is released: a change is told.
    Parent(String),
}

impl Baseline {
    fn revision(&self) -> &str {
        match self {
            Self::Release(revision) | Self::Parent(revision) => revision,
        }
    }
}

/// `semver`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    Args::parse(words, Grammar::default())?;
    Ok(if holds(workspace)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the interfaces changed no more than their versions say, or nothing is released yet.
pub(crate) fn holds(workspace: &Workspace) -> Result<bool, Stop> {
    let baseline = baseline(workspace)?;
    let mut semver = TOOL.command(workspace)?;
    semver.args(["semver-checks", "check-release", "--baseline-rev", baseline.revision()]);
    let mut compared = 0_usize;
    for package in workspace.packages().filter(|package| is_library(package)) {
        let name = text(package, "name");
        if is_in(workspace, name, &baseline) {
            semver.args(["--package", name]);
            compared += 1;
        } else {
            say(format_args!("{name}: not in {}", baseline.revision()));
        }
    }
    if compared == 0 {
        say(format_args!("no library is in {}", baseline.revision()));
        return Ok(true);
    }
    let log = workspace.target.join("xtask").join("semver.log");
    let ran = process::run_within(&mut semver, Output::Live, &log, Duration::from_secs(SECONDS_MAX))?;
    let (ok, told) = verdict(&baseline, &ran);
    say(told);
    Ok(ok)
}

fn verdict(baseline: &Baseline, ran: &Ran) -> (bool, String) {
    match (ran.code, baseline) {
        (Some(0), baseline) => {
            (true, format!("no interface changed more than its version since {}", baseline.revision()))
        }
        (Some(CHANGED), Baseline::Release(tag)) => {
            (false, format!("an interface changed more since {tag} than its version says"))
        }
        (Some(CHANGED), Baseline::Parent(commit)) => (
            true,
            format!(
                "interfaces changed since {commit}; nothing is released yet, so that is told and no more"
            ),
        ),
        _ => (false, format!("{} did not come to a verdict", TOOL.name)),
    }
}

/// The latest tag of a release, else the commit before this one.
fn baseline(workspace: &Workspace) -> Result<Baseline, Stop> {
    if let Some(tag) = git(workspace, &["describe", "--tags", "--match", "v*", "--abbrev=0"])? {
        return Ok(Baseline::Release(tag));
    }
    let parent = git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD^"])?;
    let parent = parent
        .ok_or_else(|| Stop::Unavailable("there is neither a tag v* nor a commit before this one".into()))?;
    Ok(Baseline::Parent(parent))
}

fn is_library(package: &Value) -> bool {
    let targets = package.get("targets").and_then(Value::as_array).into_iter().flatten();
    let kinds = targets.filter_map(|target| target.get("kind").and_then(Value::as_array)).flatten();
    is_published(package) && kinds.filter_map(Value::as_str).any(|kind| kind == "lib")
}

fn is_in(workspace: &Workspace, name: &str, baseline: &Baseline) -> bool {
    let manifest = format!("{}:crates/{name}/Cargo.toml", baseline.revision());
    git(workspace, &["cat-file", "-t", &manifest]).is_ok_and(|kind| kind.is_some())
}

/// What git answers in one line, or nothing where it answers with a failure.
fn git(workspace: &Workspace, words: &[&str]) -> Result<Option<String>, Stop> {
    let asked =
        Command::new("git").args(words).current_dir(&workspace.root).output().during("starting git")?;
    let told = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    Ok((asked.status.success() && !told.is_empty()).then_some(told))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ok(baseline: &Baseline, code: Option<i32>) -> bool {
        verdict(baseline, &Ran { code, ..Ran::default() }).0
    }

    #[test]
    fn a_change_fails_against_a_release_and_is_told_against_a_commit() {
        let (release, parent) = (Baseline::Release("v0.1.0".into()), Baseline::Parent("abc".into()));
        assert!(ok(&release, Some(0)) && ok(&parent, Some(0)));
        assert!(!ok(&release, Some(CHANGED)));
        assert!(ok(&parent, Some(CHANGED)));
    }

    #[test]
    fn a_run_that_did_not_judge_fails_whatever_it_compares_with() {
        for baseline in [Baseline::Release("v0.1.0".into()), Baseline::Parent("abc".into())] {
            assert!(!ok(&baseline, Some(101)) && !ok(&baseline, None), "{baseline:?}");
        }
    }

    #[test]
    fn only_published_libraries_have_an_interface_to_compare() {
        let is = |manifest: &str, kind: &str| {
            is_library(&json!({ "manifest_path": manifest, "targets": [{ "kind": [kind] }] }))
        };
        assert!(is("/a/crates/loom-x/Cargo.toml", "lib"));
        assert!(!is("/a/crates/loom-x/Cargo.toml", "bin") && !is("/a/tests/Cargo.toml", "lib"));
    }
}
