//! The judges: what each is called, what it can be sabotaged with, and the proof that it can fail.

use std::process::ExitCode;

use crate::args::{Args, Grammar};
use crate::ci::real_model;
use crate::finding::{Finding, Report};
use crate::stop::Stop;
use crate::terminal::say;
use crate::workspace::Workspace;
use crate::{bench, fuzz, kit, layers, public, tidy, trace};

/// A judge and the faults that can be planted under it.
pub(crate) struct Judge {
    pub(crate) name: &'static str,
    /// Each fault's name, which is also the rule that its finding names.
    pub(crate) sabotages: fn() -> Vec<&'static str>,
    /// Judges the workspace, with one fault planted in memory if one is named.
    pub(crate) judge: fn(&Workspace, Option<&str>) -> Result<Report, Stop>,
}

/// Every judge there is.
pub(crate) const JUDGES: [Judge; 8] = [
    Judge { name: "layers", sabotages: layers::sabotages, judge: layers::judge },
    Judge { name: "tidy", sabotages: tidy::sabotages, judge: tidy::judge },
    Judge { name: "trace", sabotages: trace::sabotages, judge: trace::judge },
    Judge { name: "public", sabotages: public::sabotages, judge: public::judge },
    Judge { name: "kit", sabotages: kit::sabotages, judge: kit::judge },
    Judge { name: "fuzz", sabotages: fuzz::sabotages, judge: fuzz::judge },
    Judge { name: "bench", sabotages: bench::sabotages, judge: bench::judge_in_memory },
    Judge { name: "real-model", sabotages: real_model::sabotages, judge: real_model::judge_in_memory },
];

/// The judge of that name.
pub(crate) fn named(name: &str) -> Option<&'static Judge> {
    JUDGES.iter().find(|judge| judge.name == name)
}

/// The judge that a fault is planted under.
pub(crate) fn owner(sabotage: &str) -> Result<&'static Judge, Stop> {
    JUDGES.iter().find(|judge| (judge.sabotages)().contains(&sabotage)).ok_or_else(|| {
        Stop::Usage(format!("unknown sabotage `{sabotage}`; `cargo xtask judges --list` names them"))
    })
}

/// `judges --list`: prints each judge with its faults.
pub(crate) fn list(words: &[String]) -> Result<ExitCode, Stop> {
    Args::parse(words, Grammar { switches: &["--list"], ..Grammar::default() })?;
    for judge in &JUDGES {
        say(format_args!("{:<10} {}", judge.name, (judge.sabotages)().join(" ")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Plants every fault there is and demands that its judge reports it, and did not before.
pub(crate) fn prove(workspace: &Workspace) -> Result<Report, Stop> {
    let mut report = Report::default();
    for judge in &JUDGES {
        let before = (judge.judge)(workspace, None)?;
        for sabotage in (judge.sabotages)() {
            let after = (judge.judge)(workspace, Some(sabotage))?;
            match after.findings.iter().find(|new| new.rule == sabotage && !before.findings.contains(new)) {
                Some(new) => {
                    report.lines.push(format!("{} --sabotage {sabotage}: reported as {new}", judge.name))
                }
                None => report.findings.push(Finding::new(
                    "judges",
                    format!("{} --sabotage {sabotage}", judge.name),
                    "the planted fault was not reported",
                )),
            }
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_takes_no_other_flag_and_no_word() {
        for other in ["--bogus", "tidy"] {
            let words = ["--list", other].map(str::to_owned);
            assert!(matches!(list(&words), Err(Stop::Usage(_))), "{other}");
        }
        assert_eq!(list(&["--list".to_owned()]), Ok(ExitCode::SUCCESS));
    }
}
