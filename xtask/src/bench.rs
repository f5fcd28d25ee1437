//! The benches: figures as JSON lines on stdout, a verdict per gate on stderr.
//!
//! The binary `loom-bench` prints one JSON object a line, `{"bench": NAME, "ns": …, "allocs": …}`, for the names
//! or groups it is given. As `loom-bench --instructions NAME ITERATIONS` it runs one loop and measures nothing; under
//! callgrind two lengths of that loop give the instructions of one iteration, free of noise and of start-up.

mod baseline;
mod callgrind;
mod figure;
mod gates;
#[path = "../../tests/bench/names.rs"]
mod names;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::args::{Args, Grammar};
use crate::finding::{Finding, Report};
use crate::stop::{During, Stop};
use crate::terminal::say;
use crate::workspace::{Workspace, cargo};
use baseline::Baseline;
use callgrind::Callgrind;
use figure::Figure;
use names::selects;

const PACKAGE: &str = "loom-scenarios";
const BINARY: &str = "loom-bench";
const NAMES_MAX: usize = 64;
const SABOTAGE: &str = "slow";

pub(crate) fn sabotages() -> Vec<&'static str> {
    vec![SABOTAGE]
}

/// Judges figures that sit exactly within their gates, or those figures made worse.
pub(crate) fn judge_in_memory(_: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let mut figures = gates::passing_figures();
    if sabotage.is_some() {
        figures.iter_mut().for_each(Figure::worsen);
    }
    let verdicts = gates::verdicts(&figures, |_| true);
    let findings = verdicts.iter().filter(|verdict| !verdict.ok).map(gates::Verdict::finding).collect();
    Ok(Report { findings, ..Report::default() })
}

/// `bench [NAMES…] [--update] [--sabotage slow]`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let grammar = Grammar { switches: &["--update"], options: &["--sabotage"], words_max: NAMES_MAX };
    let args = Args::parse(words, grammar)?;
    let slow = match args.value("--sabotage") {
        None => false,
        Some(SABOTAGE) => true,
        Some(other) => return Err(Stop::Usage(format!("bench knows no sabotage `{other}`"))),
    };
    let asked = |bench: &str| args.words.is_empty() || args.words.iter().any(|name| selects(name, bench));
    let binary = build(workspace, asked(gates::ASK))?;
    if !args.words.is_empty() {
        names::check(&args.words, &list(&binary)?).map_err(Stop::Usage)?;
    }
    let callgrind = Callgrind::find(&workspace.target);
    if callgrind.is_none() {
        eprintln!("valgrind is not installed: no instruction counts, and their gates fail");
    }
    let mut figures = Vec::new();
    measure(&binary, &args.words, |mut figure| {
        if let Some(callgrind) = callgrind.as_ref().filter(|_| gates::counts_instructions(&figure.name)) {
            match callgrind.per_iteration(&binary, &figure.name) {
                Ok(count) => figure.put("instructions", count),
                Err(stop) => eprintln!("{}: no instruction count: {stop}", figure.name),
            }
        }
        if slow {
            figure.worsen();
        }
        say(figure.line());
        figures.push(figure);
    })?;
    let mut verdicts = gates::verdicts(&figures, asked);
    if args.has("--update") {
        Baseline::write(&workspace.root, &figures)?;
        eprintln!("rewrote {}", baseline::PATH);
    } else {
        verdicts.extend(Baseline::read(&workspace.root)?.verdicts(&figures));
    }
    for verdict in &verdicts {
        eprintln!("{verdict}");
    }
    let broken = verdicts.iter().filter(|verdict| !verdict.ok).count();
    eprintln!("{} gates, {broken} broken", verdicts.len());
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the binary and says where it lies; where a bench starts the command line, that lies beside it.
fn build(workspace: &Workspace, with_command_line: bool) -> Result<PathBuf, Stop> {
    let command_line: &[&str] =
        if with_command_line { &["--package", "loom-cli", "--bin", "loom"] } else { &[] };
    let status = cargo()
        .args(["build", "--release", "--quiet", "--package", PACKAGE, "--bin", BINARY])
        .args(command_line)
        .current_dir(&workspace.root)
        .status()
        .during("starting cargo build")?;
    if !status.success() {
        return Err(Stop::Failed(format!("{BINARY} does not build")));
    }
    Ok(workspace.target.join("release").join(format!("{BINARY}{}", std::env::consts::EXE_SUFFIX)))
}

/// The benches there are, which only the binary knows.
fn list(binary: &Path) -> Result<Vec<String>, Stop> {
    let output = Command::new(binary).arg("--list").output().during(&format!("starting {BINARY}"))?;
    if !output.status.success() {
        return Err(Stop::Failed(format!("{BINARY} --list failed: {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Runs the binary and hands over each figure as it comes.
fn measure(binary: &Path, names: &[String], mut take: impl FnMut(Figure)) -> Result<(), Stop> {
    let mut command = Command::new(binary);
    command.args(names).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().during(&format!("starting {BINARY}"))?;
    // All of it is read first: counting instructions beside a running bench would disturb its clock.
    let mut lines = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            lines.push(line.during(&format!("reading {BINARY}"))?);
        }
    }
    let status = child.wait().during(&format!("waiting for {BINARY}"))?;
    if !status.success() {
        return Err(Stop::Failed(format!("{BINARY} failed: {status}")));
    }
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        take(Figure::parse(line)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_is_asked_for_by_its_name_or_what_it_lies_under() {
        assert!(selects("call.ready.3", "call.ready.3"));
        assert!(selects("call.ready", "call.ready.3"));
        assert!(selects("calls", "call.ready.3"));
        assert!(selects("channel", "channel.2guards.2sinks"));
        assert!(selects("call.ready.3.2threads", "call.ready.3.2threads"));
        assert!(!selects("calls", "channel.2guards.2sinks"));
        assert!(!selects("call.re", "call.ready.3"));
    }

    #[test]
    fn a_name_that_asks_for_no_bench_is_refused_with_those_there_are() {
        let there = ["call.bare", "wire.chat"];
        assert_eq!(names::check(&["calls", "wire.chat"], &there), Ok(()));
        assert_eq!(names::check::<&str, _>(&[], &there), Ok(()));
        for name in ["call.bear", "wire.ch", "", "floor.instant"] {
            let told = format!("no bench is called `{name}`; there are: call.bare wire.chat");
            assert_eq!(names::check(&["calls", name], &there), Err(told));
        }
    }
}
