//! The shape of files: how long they are and how they open.

use super::place::{TestFiles, is_fixture, is_shipped};
use crate::finding::{Finding, Report};
use crate::workspace::Tree;

/// No Rust file is longer.
const FILE_LINES_MAX: usize = 600;
/// Nine in ten shipped files are no longer.
const P90_LINES_MAX: usize = 400;
/// What the median of shipped files is told against.
const MEDIAN_LINES_AIM: usize = 200;
/// Files that may be longer, each with its reason.
const SIZE_EXEMPT: [(&str, &str); 0] = [];

pub(super) fn size(tree: &Tree, report: &mut Report) {
    for (path, lines) in tree.sources.iter().filter(|(path, _)| is_ours(path)) {
        let exempt = SIZE_EXEMPT.iter().any(|(exempt, _)| exempt == path);
        if lines.len() > FILE_LINES_MAX && !exempt {
            let message = format!("{} lines, at most {FILE_LINES_MAX} expected", lines.len());
            report.findings.push(Finding::new("size", path, message));
        }
    }
}

pub(super) fn spread(tree: &Tree, report: &mut Report) {
    let tests = TestFiles::of(tree);
    let shipped = tree.sources.iter().filter(|(path, _)| is_shipped(path) && !tests.contains(path));
    let mut lengths: Vec<usize> = shipped.map(|(_, lines)| lines.len()).collect();
    lengths.sort_unstable();
    let (median, p90) = (rank(&lengths, 50), rank(&lengths, 90));
    let files = lengths.len();
    report.lines.push(format!(
        "{files} shipped files: median {median} lines (aim {MEDIAN_LINES_AIM}), p90 {p90} (at most {P90_LINES_MAX})"
    ));
    if median > MEDIAN_LINES_AIM {
        let message =
            format!("the median of file lengths is {median} lines, at most {MEDIAN_LINES_AIM} aimed at");
        report.advice.push(Finding::new("spread", "crates/*/src", message));
    }
    if p90 > P90_LINES_MAX {
        let message = format!("the p90 of file lengths is {p90} lines, at most {P90_LINES_MAX} expected");
        report.findings.push(Finding::new("spread", "crates/*/src", message));
    }
}

pub(super) fn module_doc(tree: &Tree, report: &mut Report) {
    for (path, lines) in tree.sources.iter().filter(|(path, _)| is_ours(path) && !is_fixture(path)) {
        let first = lines.iter().find(|line| !line.code.trim().is_empty() || !line.comment.is_empty());
        if !first.is_some_and(|line| line.code.trim().is_empty() && line.comment.starts_with("//!")) {
            report.findings.push(Finding::new("module-doc", path, "opens with no `//!` doc"));
        }
    }
}

pub(super) fn plant_long_file(tree: &mut Tree) {
    tree.plant(
        "crates/sabotage/src/long.rs",
        &format!("//! Long.\n{}", "const A: u8 = 0;\n".repeat(FILE_LINES_MAX)),
    );
}

pub(super) fn plant_many_long_files(tree: &mut Tree) {
    let text = format!("//! Long.\n{}", "const A: u8 = 0;\n".repeat(P90_LINES_MAX));
    for at in 0..=tree.sources.len() {
        tree.plant(&format!("crates/sabotage/src/long_{at}.rs"), &text);
    }
}

pub(super) fn plant_undocumented(tree: &mut Tree) {
    tree.plant("crates/sabotage/src/mute.rs", "use std::fmt;\n//! Too late.\n");
}

fn is_ours(path: &str) -> bool {
    ["crates/", "xtask/", "tests/", "docs/"].iter().any(|folder| path.starts_with(folder))
}

/// The smallest value that at least `percent` of the sorted values do not exceed; 0 of none.
fn rank(sorted: &[usize], percent: usize) -> usize {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_rank_is_a_value_that_is_there() {
        assert_eq!(rank(&[], 90), 0);
        assert_eq!(rank(&[7], 50), 7);
        assert_eq!(rank(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 90), 9);
        assert_eq!(rank(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 50), 5);
    }

    #[test]
    fn a_file_at_the_bound_passes_and_test_files_do_not_weigh_on_the_spread() {
        let mut tree = Tree::new(BTreeMap::new());
        tree.plant("crates/a/src/lib.rs", &format!("//! A.\n{}", "//\n".repeat(FILE_LINES_MAX - 1)));
        tree.plant("crates/a/src/b.rs", "//! B.\n");
        let mut report = Report::default();
        size(&tree, &mut report);
        module_doc(&tree, &mut report);
        assert_eq!(report.findings, []);
        spread(&tree, &mut report);
        assert_eq!(report.findings.len(), 1);
        let mut tree = Tree::new(BTreeMap::new());
        tree.plant("crates/a/src/tests.rs", &"//\n".repeat(FILE_LINES_MAX));
        let mut report = Report::default();
        spread(&tree, &mut report);
        assert_eq!(report.findings, []);
    }
}
