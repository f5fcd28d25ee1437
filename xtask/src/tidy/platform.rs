//! What is particular to an operating system: in one module of each crate, which says what other systems lack.

use super::place::{TestFiles, is_shipped};
use crate::finding::{Finding, Report};
use crate::source::Line;
use crate::workspace::Tree;

const RULE: &str = "platform";
/// Paths and predicates that only some systems know, wherever they stand as whole words.
const PARTICULAR: [&str; 6] =
    ["std::os", "libc", "target_os", "target_family", "signal::unix", "signal::windows"];
/// Predicates that are ordinary words but for what asks them.
const SYSTEMS: [&str; 2] = ["unix", "windows"];
const ASKED: [&str; 3] = ["cfg(", "cfg!(", "cfg_attr("];
/// The typed refusal of what a system lacks.
const REFUSAL: &str = "NotOnThisPlatform";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let tests = TestFiles::of(tree);
    for (path, lines) in tree.sources.iter().filter(|(path, _)| is_shipped(path) && !tests.contains(path)) {
        let particular: Vec<usize> = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.test && is_particular(&line.code))
            .map(|(at, _)| at + 1)
            .collect();
        if !lies_in_module(path) {
            report.findings.extend(particular.into_iter().map(|number| {
                let message = "particular to an operating system; it belongs in the crate's `platform.rs`";
                Finding::new(RULE, format!("{path}:{number}"), message)
            }));
        } else if !particular.is_empty() && !refuses(tree, path) {
            let message = format!("says nothing of systems that lack this; refuse with a `{REFUSAL}`");
            report.findings.push(Finding::new(RULE, path.as_str(), message));
        }
    }
}

/// Whether a file is the crate's one place for such code: `src/platform.rs`, or in `src/platform/`.
fn lies_in_module(path: &str) -> bool {
    let inner = path.split('/').nth(3);
    inner == Some("platform.rs") || inner == Some("platform")
}

/// Whether any file of the module refuses what a system lacks.
fn refuses(tree: &Tree, path: &str) -> bool {
    let Some((source, _)) = path.split_once("/platform") else { return false };
    let module = format!("{source}/platform");
    let says = |line: &Line| !line.test && line.code.contains(REFUSAL);
    tree.sources
        .iter()
        .filter(|(path, _)| path.starts_with(&module) && lies_in_module(path))
        .any(|(_, lines)| lines.iter().any(says))
}

fn is_particular(code: &str) -> bool {
    let asks = ASKED.iter().any(|asked| code.contains(asked));
    PARTICULAR.iter().any(|path| has_word(code, path))
        || (asks && SYSTEMS.iter().any(|system| has_word(code, system)))
}

fn has_word(code: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code.get(..at).unwrap_or_default();
        let after = code.get(at + word.len()..).unwrap_or_default();
        !before.ends_with(joins) && !after.starts_with(joins)
    })
}

pub(super) fn plant(tree: &mut Tree) {
    tree.plant("crates/loom-sabotage/src/lib.rs", "//! Sabotage.\n#[cfg(unix)]\nfn only_there() {}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut report = Report::default();
        check(&Tree::of(files), &mut report);
        report.findings.into_iter().map(|finding| finding.place).collect()
    }

    const LIBRARY: &str = "crates/a/src/lib.rs";
    const MODULE: &str = "crates/a/src/platform.rs";

    #[test]
    fn code_for_one_system_stands_in_the_module_for_it_alone() {
        for code in [
            "#[cfg(unix)] fn a() {}",
            "if cfg!(windows) {}",
            "#[cfg_attr(not(unix), expect(unused))] fn a() {}",
            "#[cfg(all(feature = \"x\", target_os = \"linux\"))] fn a() {}",
            "use std::os::unix::fs::OpenOptionsExt;",
            "use tokio::signal::unix::signal;",
            "let flags = libc::O_NOFOLLOW;",
        ] {
            assert_eq!(found(&[(LIBRARY, code)]), ["crates/a/src/lib.rs:1"], "{code}");
            let module = format!("{code}\nstruct NotOnThisPlatform;");
            assert_eq!(found(&[(MODULE, &module)]), [""; 0], "{code}");
            assert_eq!(found(&[("crates/a/src/platform/unix.rs", &module)]), [""; 0], "{code}");
            assert_eq!(found(&[("crates/a/src/deep/platform.rs", &module)]).len(), 1, "{code}");
        }
    }

    #[test]
    fn words_that_are_no_predicate_and_code_of_tests_are_left_alone() {
        for code in [
            "let pairs = text.windows(2);",
            "// #[cfg(unix)]",
            "let unix = \"cfg(unix)\";",
            "use std::ffi::OsString;",
            "#[cfg(test)]\nmod tests {\n  #[cfg(unix)]\n  #[test]\n  fn a() {}\n}",
        ] {
            assert_eq!(found(&[(LIBRARY, code)]), [""; 0], "{code}");
        }
        assert_eq!(found(&[("crates/a/tests/b.rs", "#[cfg(unix)] fn a() {}")]), [""; 0]);
    }

    #[test]
    fn a_module_that_leaves_the_other_systems_out_is_reported() {
        let unix = "#[cfg(unix)] pub(crate) fn a() {}";
        assert_eq!(found(&[(MODULE, unix)]), [MODULE]);
        let only_tested = format!("{unix}\n#[cfg(test)]\nmod tests {{\n  use super::NotOnThisPlatform;\n}}");
        assert_eq!(found(&[(MODULE, &only_tested)]), [MODULE]);
        let folder = "crates/a/src/platform/mod.rs";
        let refused = ("crates/a/src/platform/other.rs", "struct NotOnThisPlatform;");
        assert_eq!(found(&[(folder, unix), refused]), [""; 0]);
    }
}
