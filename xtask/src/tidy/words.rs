//! Words that may not stand in committed text.

use super::place::{TestFiles, is_fixture, is_shipped};
use crate::finding::{Finding, Report};
use crate::workspace::Tree;

/// Marks of unfinished work. They are put together here so that this file does not report itself.
const LEFTOVERS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
/// Folders of somebody's machine.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
/// Ways for library code to end the process of whoever called it.
const PANICS: [&str; 6] = [".unwrap()", ".expect(", "panic!(", "todo!(", "unimplemented!(", "unreachable!("];

pub(super) fn bare_allow(tree: &Tree, report: &mut Report) {
    for (path, lines) in &tree.sources {
        for (at, line) in lines.iter().enumerate() {
            let Some(start) = line.code.find("[allow(") else { continue };
            if !line.code.get(..start).is_some_and(|before| before.ends_with(['#', '!'])) {
                continue;
            }
            // The attribute ends at its closing bracket, on this line or a later one.
            let mut attribute = String::new();
            for line in lines.iter().skip(at) {
                attribute.push_str(&line.code);
                if line.code.contains(")]") {
                    break;
                }
            }
            if !attribute.contains("reason") {
                let place = format!("{path}:{}", at + 1);
                report.findings.push(Finding::new(
                    "bare-allow",
                    place,
                    "an `allow` without a reason; say `expect`",
                ));
            }
        }
    }
}

pub(super) fn leftovers(tree: &Tree, report: &mut Report) {
    every_line(tree, |path, number, line| {
        if let Some(word) = LEFTOVERS.iter().find(|word| contains_word(line, word)) {
            let place = format!("{path}:{number}");
            report.findings.push(Finding::new(
                "leftover",
                place,
                format!("`{word}`: do it or file it elsewhere"),
            ));
        }
    });
}

pub(super) fn panics(tree: &Tree, report: &mut Report) {
    let tests = TestFiles::of(tree);
    for (path, lines) in tree.sources.iter().filter(|(path, _)| is_shipped(path) && !tests.contains(path)) {
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.test) {
            if let Some(way) = PANICS.iter().find(|way| contains_call(&line.code, way)) {
                let place = format!("{path}:{}", at + 1);
                report.findings.push(Finding::new("panic", place, format!("`{way}` in library code")));
            }
        }
    }
}

pub(super) fn machine_paths(tree: &Tree, report: &mut Report) {
    every_line(tree, |path, number, line| {
        if let Some(folder) = MACHINE_PATHS.iter().find(|folder| names_folder(line, folder)) {
            let place = format!("{path}:{number}");
            report.findings.push(Finding::new(
                "machine-path",
                place,
                format!("names `{folder}` of one machine"),
            ));
        }
    });
}

pub(super) fn plant_bare_allow(tree: &mut Tree) {
    tree.plant("crates/sabotage/src/allow.rs", "//! A.\n#[allow(\n    dead_code\n)]\nfn a() {}\n");
}

pub(super) fn plant_leftover(tree: &mut Tree) {
    tree.plant("docs/sabotage.md", &format!("# Later\n{}: write this\n", concat!("TO", "DO")));
}

pub(super) fn plant_panic(tree: &mut Tree) {
    tree.plant("crates/sabotage/src/panic.rs", "//! A.\nfn a(x: Option<u8>) -> u8 {\n    x.unwrap()\n}\n");
}

pub(super) fn plant_machine_path(tree: &mut Tree) {
    tree.plant("docs/sabotage.md", &format!("see `{}me/notes`\n", concat!("/ro", "ot/")));
}

fn every_line(tree: &Tree, mut visit: impl FnMut(&str, usize, &str)) {
    for (path, text) in tree.files.iter().filter(|(path, _)| !is_fixture(path)) {
        for (at, line) in text.lines().enumerate() {
            visit(path, at + 1, line);
        }
    }
}

/// Whether `word` stands in the line with no letter, digit or `_` on either side.
fn contains_word(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

/// Whether the call stands in the code as itself, not as the end of a longer name.
fn contains_call(code: &str, call: &str) -> bool {
    code.match_indices(call).any(|(at, _)| {
        let before = code.get(..at).and_then(|before| before.chars().next_back());
        call.starts_with('.') || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether the folder opens a path, and is not the middle of an address or a longer path.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | '}' | '*'))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn found(check: fn(&Tree, &mut Report), path: &str, text: &str) -> Vec<String> {
        let mut tree = Tree::new(BTreeMap::new());
        tree.plant(path, text);
        let mut report = Report::default();
        check(&tree, &mut report);
        report.findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn an_allow_needs_a_reason_and_a_string_is_none() {
        let path = "crates/a/src/lib.rs";
        assert_eq!(
            found(bare_allow, path, "#![allow(x)]\n#[allow(y)] fn a() {}"),
            ["crates/a/src/lib.rs:1", "crates/a/src/lib.rs:2"]
        );
        assert_eq!(
            found(bare_allow, path, "#[allow(x, reason = \"y\")]\n\"#[allow(z)]\"\n// #[allow(z)]"),
            [""; 0]
        );
        assert_eq!(found(bare_allow, path, "#[allow(\n  x,\n  reason = \"y\"\n)]"), [""; 0]);
    }

    #[test]
    fn panics_count_in_shipped_code_alone() {
        let text = "a.unwrap();\n// b.unwrap()\n#[cfg(test)]\nmod tests {\n  c.unwrap();\n}\nno_panic!(d);\npanic!(e);";
        assert_eq!(
            found(panics, "crates/a/src/lib.rs", text),
            ["crates/a/src/lib.rs:1", "crates/a/src/lib.rs:8"]
        );
        assert_eq!(found(panics, "crates/a/tests/b.rs", text), [""; 0]);
        assert_eq!(found(panics, "crates/a/src/b/tests.rs", text), [""; 0]);
    }

    #[test]
    fn a_leftover_is_a_whole_word_in_any_file() {
        let word = LEFTOVERS[0];
        assert_eq!(found(leftovers, "docs/a.md", &format!("x\n{word}: y")), ["docs/a.md:2"]);
        assert_eq!(found(leftovers, "docs/a.md", &format!("{word}S and MAS{word}")), [""; 0]);
    }

    #[test]
    fn a_machine_path_opens_a_path() {
        let folder = MACHINE_PATHS[0];
        assert_eq!(found(machine_paths, "a.md", &format!("in {folder}x")), ["a.md:1"]);
        assert_eq!(found(machine_paths, "a.md", &format!("https://example.org{folder}x")), [""; 0]);
    }
}
