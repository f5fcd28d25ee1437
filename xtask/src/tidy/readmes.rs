//! The README of each crate: there, told apart from a neighbour of the same name, and compiled.

use crate::finding::{Finding, Report};
use crate::workspace::Tree;

const RULE: &str = "readme";
const CRATES: &str = "crates/";
/// What the first paragraph says (ADR 0025 §6).
const APART: &str = "it has nothing to do with the concurrency checker `loom`";
/// How a library brings its README to its tests.
const INCLUDED: &str = "../README.md";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let folders = tree.files.keys().filter_map(|path| {
        let folder = path.strip_suffix("/Cargo.toml")?;
        folder.strip_prefix(CRATES).is_some_and(|name| !name.contains('/')).then_some(folder)
    });
    for folder in folders {
        report
            .findings
            .extend(wrong(tree, folder).into_iter().map(|(place, why)| Finding::new(RULE, place, why)));
    }
}

fn wrong(tree: &Tree, folder: &str) -> Vec<(String, String)> {
    let readme = format!("{folder}/README.md");
    let Some(text) = tree.text(&readme) else {
        return vec![(readme, "missing; a registry shows it".to_owned())];
    };
    let mut wrong = Vec::new();
    let opening = text.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
    if !opening.contains(APART) {
        wrong.push((readme, format!("its first paragraph is to say that {APART}")));
    }
    let library = format!("{folder}/src/lib.rs");
    if let Some(lines) = tree.sources.get(&library)
        && !lines.iter().any(|line| line.literals.iter().any(|literal| literal == INCLUDED))
    {
        wrong.push((library, format!("its README is not compiled; include_str!({INCLUDED:?}) for doctests")));
    }
    wrong
}

pub(super) fn plant(tree: &mut Tree) {
    tree.plant("crates/loom-sabotage/Cargo.toml", "[package]\nname = \"loom-sabotage\"\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "");

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut report = Report::default();
        check(&Tree::of(files), &mut report);
        report.findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_crate_without_a_readme_is_reported_and_what_lies_deeper_is_none() {
        assert_eq!(found(&[MANIFEST, ("crates/a/tests/b/Cargo.toml", "")]), ["crates/a/README.md"]);
    }

    #[test]
    fn the_first_paragraph_tells_the_crate_from_its_neighbour() {
        let opening =
            format!("# a\n\nWhat it is for;\n{}.\n", APART.replace("the concurrency", "the\nconcurrency"));
        assert_eq!(found(&[MANIFEST, ("crates/a/README.md", &opening)]), [""; 0]);
        let later = format!("# a\n\nWhat it is for.\n\n{APART}");
        assert_eq!(found(&[MANIFEST, ("crates/a/README.md", &later)]), ["crates/a/README.md"]);
    }

    #[test]
    fn a_library_compiles_its_readme() {
        let readme = format!("# a\n\n{APART}\n");
        let with = |library: &str| {
            found(&[MANIFEST, ("crates/a/README.md", &readme), ("crates/a/src/lib.rs", library)])
        };
        assert_eq!(
            with("#[doc = include_str!(\"../README.md\")]\n#[cfg(doctest)]\nstruct Readme;\n"),
            [""; 0]
        );
        assert_eq!(with("// include_str!(\"../README.md\")\n"), ["crates/a/src/lib.rs"]);
    }
}
