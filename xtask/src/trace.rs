//! From each row of `docs/spec.md` to the tests that name it, and what is wrong where the two do not meet.

mod scan;
mod spec;

use std::collections::BTreeMap;

use crate::finding::{Finding, Report};
use crate::stop::Stop;
use crate::workspace::{Tree, Workspace};
pub(crate) use scan::{Test, tests_in};
use spec::{Row, Status};

const SPEC: &str = "docs/spec.md";
/// A row that no specification has.
const PLANTED: &str = "Z1";

pub(crate) fn sabotages() -> Vec<&'static str> {
    vec!["untested-row", "planned-row-tested", "unknown-row"]
}

/// Judges the committed text, with a row or a test planted in memory if a fault is named.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let mut tree = workspace.tree()?;
    let row =
        |status: &str| format!("\n| row | status | what |\n|---|---|---|\n| {PLANTED} | {status} | x |\n");
    let test = format!("//! A.\n/// {PLANTED}: x\n#[test]\nfn sabotage() {{}}\n");
    let spec = tree.text(SPEC).unwrap_or_default().to_owned();
    match sabotage {
        None => {}
        Some("untested-row") => tree.plant(SPEC, &format!("{spec}{}", row("built"))),
        Some("planned-row-tested") => {
            tree.plant(SPEC, &format!("{spec}{}", row("planned")));
            tree.plant("tests/sabotage.rs", &test);
        }
        Some("unknown-row") => tree.plant("tests/sabotage.rs", &test),
        Some(other) => return Err(Stop::Usage(format!("trace knows no sabotage `{other}`"))),
    }
    Ok(check(&tree))
}

fn check(tree: &Tree) -> Report {
    let mut report = Report::default();
    let text = tree.text(SPEC).unwrap_or_else(|| {
        report.findings.push(Finding::new("spec", SPEC, "missing; it states every row and its status"));
        ""
    });
    let rows = spec::parse(text, &mut report.findings);
    if rows.is_empty() {
        report.findings.push(Finding::new("spec", SPEC, "no row found; expected `| D1 | built | … |`"));
    }
    let mut named: BTreeMap<String, Vec<Test>> = BTreeMap::new();
    for test in tests_in(tree) {
        for row in &test.rows {
            named.entry(row.clone()).or_default().push(test.clone());
        }
    }
    for row in &rows {
        judge_row(row, named.get(&row.id).map_or(&[], Vec::as_slice), &mut report);
    }
    for (id, tests) in named.iter().filter(|(id, _)| !rows.iter().any(|row| row.id == **id)) {
        for test in tests {
            let message = format!("`{}` names {id}, which is no row of {SPEC}", test.name);
            report.findings.push(Finding::new("unknown-row", test.place(), message));
        }
    }
    report.lines.push(totals(&rows, &named));
    report
}

fn judge_row(row: &Row, tests: &[Test], report: &mut Report) {
    let status = row.status.name();
    if tests.is_empty() {
        report.lines.push(format!("{:<5} {status:<8} –", row.id));
    }
    for (at, test) in tests.iter().enumerate() {
        let (id, status) = if at == 0 { (row.id.as_str(), status) } else { ("", "") };
        let ignored = if test.ignored { " (ignored)" } else { "" };
        report.lines.push(format!("{id:<5} {status:<8} {}::{}{ignored}", test.path, test.name));
    }
    let place = format!("{SPEC}:{}", row.line);
    match row.status {
        Status::Planned if !tests.is_empty() => {
            let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
            let message = format!("{} is planned, yet named by {}", row.id, names.join(", "));
            report.findings.push(Finding::new("planned-row-tested", place, message));
        }
        // A test that a green run does not run shows nothing about a row.
        Status::Built | Status::Partly if !tests.iter().any(|test| !test.ignored) => {
            let message = format!("{} is {status}, and no test that runs names it", row.id);
            report.findings.push(Finding::new("untested-row", place, message));
        }
        _ => {}
    }
}

fn totals(rows: &[Row], named: &BTreeMap<String, Vec<Test>>) -> String {
    let count = |status: Status| rows.iter().filter(|row| row.status == status).count();
    format!(
        "{} rows: {} built, {} partly, {} planned; {} rows named by tests",
        rows.len(),
        count(Status::Built),
        count(Status::Partly),
        count(Status::Planned),
        named.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(spec: &str, source: &str) -> Vec<String> {
        let mut tree = Tree::new(BTreeMap::new());
        tree.plant(SPEC, spec);
        tree.plant("tests/src/a.rs", source);
        check(&tree).findings.iter().map(ToString::to_string).collect()
    }

    const TEST: &str = "/// D1: it holds.\n#[test]\nfn it_holds() {}\n";

    #[test]
    fn a_built_row_with_a_test_and_a_planned_row_without_one_pass() {
        assert_eq!(found("| D1 | built | x |\n| D2 | planned | y |\n", TEST), [""; 0]);
        assert_eq!(found("| D1 | partly: z is missing | x |\n", TEST), [""; 0]);
    }

    #[test]
    fn a_built_row_without_a_test_that_runs_is_reported() {
        let message = "docs/spec.md:1: D1 is built, and no test that runs names it [untested-row]";
        assert_eq!(found("| D1 | built | x |\n", ""), [message]);
        assert_eq!(
            found("| D1 | built | x |\n", "/// D1: x\n#[test]\n#[ignore = \"slow\"]\nfn a() {}\n"),
            [message]
        );
    }

    #[test]
    fn a_planned_row_with_a_test_and_an_unknown_row_are_reported() {
        assert_eq!(
            found("| D1 | planned | x |\n", TEST),
            ["docs/spec.md:1: D1 is planned, yet named by it_holds [planned-row-tested]"]
        );
        assert_eq!(
            found("| D2 | planned | x |\n", TEST),
            ["tests/src/a.rs:3: `it_holds` names D1, which is no row of docs/spec.md [unknown-row]"]
        );
    }
}
