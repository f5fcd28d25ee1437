//! Documents against what they list: decisions, error pages, cases, and the top level itself.

use std::collections::BTreeSet;

use crate::finding::{Finding, Report};
use crate::trace::tests_in;
use crate::workspace::Tree;

const TOP_LEVEL: [&str; 19] = [
    ".cargo",
    ".ci",
    ".gitattributes",
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "adr",
    "clippy.toml",
    "crates",
    "deny.toml",
    "docs",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "tests",
    "xtask",
];
const NAMES: &str = "crates/loom-effect-runtime/src/names.rs";
const PAGES: &str = "docs/errors/";
/// The one file among the pages that is no page.
const PAGES_INDEX: &str = "index.md";
const DECISIONS: &str = "adr/";
const DECISIONS_INDEX: &str = "adr/index.md";
const CASES: &str = "docs/cases.md";

pub(super) fn top_level(tree: &Tree, report: &mut Report) {
    let entries: BTreeSet<&str> = tree.files.keys().filter_map(|path| path.split('/').next()).collect();
    for entry in entries.into_iter().filter(|entry| !TOP_LEVEL.contains(entry)) {
        report.findings.push(Finding::new("top-level", entry, "not on the list of what lies at the top"));
    }
}

pub(super) fn decisions(tree: &Tree, report: &mut Report) {
    let mut fail = |place: &str, message: String| report.findings.push(Finding::new("adr", place, message));
    let Some(index) = tree.text(DECISIONS_INDEX) else {
        return fail(DECISIONS_INDEX, "missing; it lists every decision".into());
    };
    let files = tree.files.keys().filter(|path| path.starts_with(DECISIONS) && *path != DECISIONS_INDEX);
    for (expected, path) in (1_usize..).zip(files) {
        let file = path.trim_start_matches(DECISIONS);
        match file.split_once('-').and_then(|(number, _)| number.parse::<usize>().ok()) {
            Some(number) if number == expected => {}
            _ => fail(path, format!("expected a name that begins with {expected:04}-")),
        }
        if !index.contains(&format!("({file})")) {
            fail(path, format!("not linked in {DECISIONS_INDEX}"));
        }
    }
    for link in links(index).filter(|link| tree.text(&format!("{DECISIONS}{link}")).is_none()) {
        fail(DECISIONS_INDEX, format!("links {link}, which is not there"));
    }
}

pub(super) fn error_pages(tree: &Tree, report: &mut Report) {
    let mut fail =
        |place: &str, message: String| report.findings.push(Finding::new("error-page", place, message));
    let names = registered(tree);
    if names.is_empty() {
        fail(NAMES, "no name found; expected string literals that end in `Error`".into());
    }
    let pages =
        tree.files.keys().filter_map(|path| path.strip_prefix(PAGES)).filter(|page| *page != PAGES_INDEX);
    let pages: BTreeSet<&str> = pages.map(|page| page.trim_end_matches(".md")).collect();
    for name in names.iter().filter(|name| !pages.contains(name.as_str())) {
        fail(NAMES, format!("`{name}` has no page {PAGES}{name}.md"));
    }
    for page in pages.iter().filter(|page| !names.contains(**page)) {
        fail(&format!("{PAGES}{page}.md"), "a page without a name in the registry".into());
    }
}

/// Rows of a table whose column `test` or `tests` names functions in backticks.
pub(super) fn cases(tree: &Tree, report: &mut Report) {
    let Some(text) = tree.text(CASES) else { return };
    let known: BTreeSet<String> = tests_in(tree).into_iter().map(|test| test.name).collect();
    let mut column = None;
    let mut rows = 0_usize;
    for (at, line) in text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            column = None;
            continue;
        };
        let Some(test) = column else {
            column = cells.iter().position(|cell| matches!(cell.to_lowercase().as_str(), "test" | "tests"));
            continue;
        };
        let cell = cells.get(test).copied().unwrap_or_default();
        if cell.chars().all(|c| matches!(c, '-' | ':')) && !cell.is_empty() {
            continue;
        }
        rows += 1;
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        let mut fail = |message: String| {
            report.findings.push(Finding::new("case", format!("{CASES}:{}", at + 1), message))
        };
        if named.is_empty() {
            fail("names no test".into());
        }
        for name in named {
            if !known.contains(name.rsplit("::").next().unwrap_or(name)) {
                fail(format!("names `{name}`, which is no test"));
            }
        }
    }
    if rows == 0 {
        report.findings.push(Finding::new("case", CASES, "no table with a column `test`"));
    }
}

pub(super) fn plant_top_level(tree: &mut Tree) {
    tree.plant("scripts/sabotage.sh", "true\n");
}

pub(super) fn plant_unlisted_decision(tree: &mut Tree) {
    tree.plant("adr/9999-sabotage.md", "# Sabotage\n");
    if tree.text(DECISIONS_INDEX).is_none() {
        tree.plant(DECISIONS_INDEX, "# Decisions\n");
    }
}

pub(super) fn plant_orphan_page(tree: &mut Tree) {
    tree.plant("docs/errors/SabotageError.md", "# SabotageError\n");
}

pub(super) fn plant_unknown_case(tree: &mut Tree) {
    tree.plant(CASES, "| case | test |\n|---|---|\n| sabotage | `no_such_test_exists` |\n");
}

fn registered(tree: &Tree) -> BTreeSet<String> {
    let lines = tree.sources.get(NAMES).into_iter().flatten().filter(|line| !line.test);
    let literals = lines.flat_map(|line| &line.literals);
    let is_name =
        |text: &&String| text.starts_with(char::is_uppercase) && text.chars().all(char::is_alphanumeric);
    literals.filter(is_name).cloned().collect()
}

/// The relative files that a Markdown text links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| target.ends_with(".md") && !target.contains('/'))
}

/// The cells of a Markdown table row, or nothing where the line is none.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn found(check: fn(&Tree, &mut Report), files: &[(&str, &str)]) -> Vec<String> {
        let mut tree = Tree::new(BTreeMap::new());
        files.iter().for_each(|(path, text)| tree.plant(path, text));
        let mut report = Report::default();
        check(&tree, &mut report);
        report.findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn decisions_are_numbered_without_gaps_and_linked_both_ways() {
        let index = ("adr/index.md", "- [One](0001-one.md)\n- [Two](0002-two.md)\n");
        assert_eq!(found(decisions, &[index, ("adr/0001-one.md", ""), ("adr/0002-two.md", "")]), [""; 0]);
        assert_eq!(
            found(decisions, &[index, ("adr/0001-one.md", ""), ("adr/0003-two.md", "")]),
            [
                "adr/0003-two.md: expected a name that begins with 0002- [adr]",
                "adr/0003-two.md: not linked in adr/index.md [adr]",
                "adr/index.md: links 0002-two.md, which is not there [adr]",
            ]
        );
    }

    #[test]
    fn each_registered_name_has_a_page_and_each_page_a_name() {
        let names =
            (NAMES, "names! { A => \"AError\", refusal: true; }\n#[cfg(test)]\nmod t { \"NoError\" }");
        assert_eq!(
            found(error_pages, &[names, ("docs/errors/AError.md", ""), ("docs/errors/index.md", "")]),
            [""; 0]
        );
        assert_eq!(found(error_pages, &[names]).len(), 1);
        assert_eq!(
            found(error_pages, &[names, ("docs/errors/AError.md", ""), ("docs/errors/BError.md", "")]).len(),
            1
        );
    }

    #[test]
    fn a_case_names_a_test_that_exists() {
        let test = ("tests/src/a.rs", "#[test]\nfn it_holds() {}\n");
        let row = |cell: &str| format!("| case | tests |\n|---|:-:|\n| x | {cell} |\n");
        assert_eq!(found(cases, &[test, (CASES, &row("`a::it_holds`"))]), [""; 0]);
        assert_eq!(found(cases, &[test, (CASES, &row("`it_fails`"))]).len(), 1);
        assert_eq!(found(cases, &[test, (CASES, &row("none"))]).len(), 1);
        assert_eq!(found(cases, &[test, (CASES, "no table")]).len(), 1);
    }
}
