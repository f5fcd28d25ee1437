//! What may stand in the dependency tree: `deny.toml`, held against it by cargo-deny, with the proof that each of its
//! checks can fail. It is part of `deep`: the tool takes minutes to install.

use std::process::ExitCode;

use crate::args::{Args, Grammar};
use crate::finding::{Finding, Report};
use crate::process::{self, Output, Ran};
use crate::stop::{During, Stop};
use crate::terminal::say;
use crate::tools::Tool;
use crate::workspace::Workspace;

const TOOL: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
const CONFIGURATION: &str = "deny.toml";
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// A fault: a change of the configuration after which what is in the tree is refused.
struct Fault {
    /// Its name, which is also the rule of what it makes the tool say.
    name: &'static str,
    /// How the tool names such an error.
    code: &'static str,
    from: &'static str,
    to: &'static str,
}

const FAULTS: [Fault; 3] = [
    Fault { name: "banned-license", code: "rejected", from: "    \"MIT\",\n", to: "" },
    Fault {
        name: "banned-crate",
        code: "banned",
        from: "deny = [\n",
        to: "deny = [\n    { crate = \"serde\" },\n",
    },
    Fault {
        name: "unknown-source",
        code: "source-not-allowed",
        from: "allow-registry = [\"https://github.com/rust-lang/crates.io-index\"]",
        to: "allow-registry = []",
    },
];

/// `deny [--sabotage NAME]`: the tree as it is, and the proof; or one fault planted.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let args = Args::parse(words, Grammar { options: &["--sabotage"], ..Grammar::default() })?;
    let ok = match args.value("--sabotage") {
        Some(name) => {
            let known = FAULTS.iter().find(|fault| fault.name == name);
            let fault = known.ok_or_else(|| Stop::Usage(format!("deny knows no sabotage `{name}`")))?;
            told(&check(workspace, Some(fault))?)
        }
        None => holds(workspace)?,
    };
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the tree is as the configuration wants it, and each planted fault is noticed.
pub(crate) fn holds(workspace: &Workspace) -> Result<bool, Stop> {
    let mut report = check(workspace, None)?;
    for fault in &FAULTS {
        if !check(workspace, Some(fault))?.findings.iter().any(|finding| finding.rule == fault.name) {
            let place = format!("deny --sabotage {}", fault.name);
            report.findings.push(Finding::new("deny", place, "the planted fault was not reported"));
        }
    }
    Ok(told(&report))
}

fn told(report: &Report) -> bool {
    say(report.to_string().trim_end());
    report.findings.is_empty()
}

fn check(workspace: &Workspace, fault: Option<&Fault>) -> Result<Report, Stop> {
    let logs = workspace.target.join("xtask");
    let mut deny = TOOL.command(workspace)?;
    deny.args(["--color", "never", "--all-features", "--locked", "--config"]);
    match fault {
        None => deny.arg(CONFIGURATION),
        Some(fault) => {
            let text = std::fs::read_to_string(workspace.root.join(CONFIGURATION))
                .during(&format!("reading {CONFIGURATION}"))?;
            std::fs::create_dir_all(&logs).during("making the log folder")?;
            let planted = logs.join(CONFIGURATION);
            std::fs::write(&planted, plant(&text, fault)?).during("planting a fault")?;
            deny.arg(planted)
        }
    };
    deny.args(["check", "--hide-inclusion-graph"]).args(CHECKS);
    read(&process::run(&mut deny, Output::Kept, &logs.join("deny.log"))?)
}

fn plant(text: &str, fault: &Fault) -> Result<String, Stop> {
    let planted = text.replacen(fault.from, fault.to, 1);
    if planted == text {
        return Err(Stop::Failed(format!("{CONFIGURATION} has no line to plant `{}` in", fault.name)));
    }
    Ok(planted)
}

/// The tool's errors as findings, its warnings and its closing line as lines. A run that failed without an error was none.
fn read(ran: &Ran) -> Result<Report, Stop> {
    let mut report = Report::default();
    let mut lines = ran.output.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some((code, message)) = line.strip_prefix("error[").and_then(|rest| rest.split_once("]: ")) {
            let rule = FAULTS.iter().find(|fault| fault.code == code).map_or("deny", |fault| fault.name);
            let place = lines.peek().and_then(|next| place(next)).unwrap_or(CONFIGURATION);
            report.findings.push(Finding::new(rule, place, message));
        } else if line.starts_with("warning[") || CHECKS.iter().any(|check| line.starts_with(check)) {
            report.lines.push(line.to_owned());
        }
    }
    let closed = report.lines.iter().any(|line| CHECKS.iter().all(|check| line.contains(check)));
    if !closed || ran.ok != report.findings.is_empty() {
        return Err(Stop::Failed(format!(
            "{} did not come to a verdict:\n{}",
            TOOL.name,
            ran.output.trim_end()
        )));
    }
    Ok(report)
}

/// The package that a line `┌─ …/NAME-VERSION/Cargo.toml:4:1` points into.
fn place(line: &str) -> Option<&str> {
    let path = line.trim_start().strip_prefix("┌─ ")?;
    path.rsplit('/').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ok: bool, output: &str) -> Result<Vec<String>, Stop> {
        let report = read(&Ran { ok, output: output.to_owned(), ..Ran::default() })?;
        Ok(report.findings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_error_is_a_finding_at_its_package_and_a_warning_is_none() {
        let output = "error[rejected]: failed to satisfy license requirements\n   ┌─ /r/zmij-1.0.23/Cargo.toml:34:12\n   │\n\
                      warning[duplicate]: found 2 duplicate entries for crate 'syn'\n\n\
                      error[banned]: crate 'serde' is explicitly banned\n\nbans FAILED, licenses FAILED, sources ok\n";
        assert_eq!(
            shown(false, output).unwrap(),
            [
                "zmij-1.0.23: failed to satisfy license requirements [banned-license]",
                "deny.toml: crate 'serde' is explicitly banned [banned-crate]"
            ]
        );
        assert_eq!(
            shown(true, "warning[duplicate]: x\nbans ok, licenses ok, sources ok\n").unwrap(),
            [""; 0]
        );
    }

    #[test]
    fn a_run_that_came_to_no_verdict_is_neither_content_nor_a_finding() {
        assert!(shown(true, "").is_err(), "nothing was checked");
        assert!(shown(true, "licenses ok\n").is_err(), "not all was checked");
        assert!(shown(false, "bans ok, licenses ok, sources ok\n").is_err());
        assert!(shown(true, "error[banned]: x\nbans FAILED, licenses ok, sources ok\n").is_err());
    }

    #[test]
    fn a_fault_for_which_the_configuration_has_no_line_is_not_planted_in_silence() {
        let text = include_str!("../../deny.toml");
        for fault in &FAULTS {
            assert_ne!(plant(text, fault).unwrap(), text, "{}", fault.name);
            assert!(plant("[licenses]\n", fault).is_err(), "{}", fault.name);
        }
    }
}
