//! The conformance kits: each passes its well-made subject, and notices the fault that is planted in it. They are tests
//! of the suite `kit`, which runs with the other tests too.

use crate::finding::{Finding, Report};
use crate::process::{self, Output, Ran};
use crate::stop::Stop;
use crate::suite::Suite;
use crate::workspace::Workspace;

const SUITE: Suite =
    Suite { target: "kit", folder: "crates/loom-testing/tests/kit/", sabotage: "LOOM_KIT_SABOTAGE" };
/// Each fault, and the one test that shall fail of it.
const FAULTS: [(&str, &str); 9] = [
    ("fails-open", "authorizer"),
    ("keeps-resets", "sink"),
    ("kept-state", "validator"),
    ("leaked-permit", "middleware"),
    ("no-op-form", "output_middleware"),
    ("panics-on-json", "input_middleware"),
    ("retries-refusal", "around_calls"),
    ("split-dependent", "guard"),
    ("text-twice", "effect"),
];

pub(crate) fn sabotages() -> Vec<&'static str> {
    FAULTS.iter().map(|(name, _)| *name).collect()
}

/// Runs the suite, with one fault planted in it if one is named.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let planted = sabotage.map(fault).transpose()?;
    let mut suite = SUITE.command(workspace);
    suite.envs(planted.map(|(name, _)| (SUITE.sabotage, name)));
    let log = workspace.target.join("xtask").join("kit.log");
    report(planted, &SUITE.tests(&workspace.tree()?), &process::run(&mut suite, Output::Kept, &log)?)
}

fn fault(name: &str) -> Result<(&'static str, &'static str), Stop> {
    let known = FAULTS.into_iter().find(|(known, _)| *known == name);
    known.ok_or_else(|| Stop::Usage(format!("kit knows no sabotage `{name}`")))
}

/// What a run of the suite shows. A planted fault is only reported if its own test failed and no other did.
fn report(
    planted: Option<(&'static str, &'static str)>,
    tests: &[String],
    ran: &Ran,
) -> Result<Report, Stop> {
    let failed = SUITE.ended(tests, ran)?.failed;
    let mut report = Report { lines: vec![format!("{} kits ran", tests.len())], ..Report::default() };
    match planted {
        Some((name, test)) if failed == [test] => {
            report.findings.push(Finding::new(name, test, "its kit noticed the fault"));
        }
        Some((name, test)) => {
            report.lines.push(format!("`{name}` is {test}'s to notice; failed: {failed:?}"))
        }
        None => {
            let found =
                |test: &str| Finding::new(SUITE.target, test, "the kit finds fault with a well-made subject");
            report.findings.extend(failed.into_iter().map(found));
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(planted: Option<&str>, output: &str) -> Result<Report, Stop> {
        let tests = ["middleware".to_owned(), "input_middleware".to_owned()];
        let planted = planted.map(|name| fault(name).unwrap());
        report(planted, &tests, &Ran { output: output.to_owned(), ..Ran::default() })
    }

    #[test]
    fn a_fault_counts_as_reported_where_its_own_kit_and_no_other_noticed_it() {
        let own = "test calls::middleware ... FAILED\ntest calls::input_middleware ... ok\n";
        assert_eq!(shown(Some("leaked-permit"), own).unwrap().findings.len(), 1);
        let other = "test calls::middleware ... ok\ntest calls::input_middleware ... FAILED\n";
        assert_eq!(shown(Some("leaked-permit"), other).unwrap().findings, []);
        let both = "test calls::middleware ... FAILED\ntest calls::input_middleware ... FAILED\n";
        assert_eq!(shown(Some("leaked-permit"), both).unwrap().findings, []);
        assert_eq!(shown(None, both).unwrap().findings.len(), 2, "without a fault each failure counts");
    }

    #[test]
    fn every_fault_has_a_test_of_its_own_and_every_test_a_fault() {
        let tests = SUITE.tests(&Workspace::find().unwrap().tree().unwrap());
        let mut owners: Vec<&str> = FAULTS.iter().map(|(_, test)| *test).collect();
        owners.sort_unstable();
        let mut tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        tests.sort_unstable();
        assert_eq!(owners, tests);
    }
}
