//! What a path says of a file: shipped code, test code, or a fixture.

use std::collections::BTreeSet;

use crate::source;
use crate::workspace::Tree;

/// Folders whose Rust files are inputs of a test, not modules of it.
const FIXTURE_FOLDERS: [&str; 5] = ["compile_fail", "compile_pass", "ui", "fail", "pass"];

/// Whether the file is a source file of a crate that ships, `crates/NAME/src/…`.
pub(super) fn is_shipped(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("crates") && parts.nth(1) == Some("src")
}

/// Whether the file is read by a test that compiles it by itself.
pub(super) fn is_fixture(path: &str) -> bool {
    let mut folders = path.split('/').skip_while(|part| *part != "tests");
    folders.any(|part| FIXTURE_FOLDERS.contains(&part))
}

/// The files under a `src` folder that only a test build compiles.
pub(super) struct TestFiles(BTreeSet<String>);

impl TestFiles {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut found = BTreeSet::new();
        for (path, lines) in &tree.sources {
            for module in source::test_modules(lines) {
                let folder = module_folder(path);
                found.insert(format!("{folder}/{module}.rs"));
                found.insert(format!("{folder}/{module}/"));
            }
        }
        Self(found)
    }

    pub(super) fn contains(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        name == "tests.rs"
            || path.contains("/tests/")
            || self
                .0
                .iter()
                .any(|test| if test.ends_with('/') { path.starts_with(test) } else { path == test })
    }
}

/// The folder in which the modules that a file declares lie.
fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        name => format!("{folder}/{}", name.trim_end_matches(".rs")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn only_crates_ship_and_only_their_src() {
        assert!(is_shipped("crates/a/src/lib.rs"));
        assert!(is_shipped("crates/a/src/b/c.rs"));
        assert!(!is_shipped("crates/a/tests/b.rs"));
        assert!(!is_shipped("xtask/src/main.rs"));
        assert!(is_fixture("crates/a/tests/compile_fail/x.rs"));
        assert!(!is_fixture("crates/a/src/ui/x.rs"));
    }

    #[test]
    fn a_module_behind_a_test_gate_is_a_test_file_wherever_it_lies() {
        let mut tree = Tree::new(BTreeMap::new());
        tree.plant("crates/a/src/lib.rs", "#[cfg(test)]\nmod laws;\nmod real;");
        tree.plant("crates/a/src/deep.rs", "#[cfg(test)]\nmod inner;");
        let tests = TestFiles::of(&tree);
        assert!(tests.contains("crates/a/src/laws.rs"));
        assert!(tests.contains("crates/a/src/laws/first.rs"));
        assert!(tests.contains("crates/a/src/deep/inner.rs"));
        assert!(tests.contains("crates/a/src/real/tests.rs"));
        assert!(!tests.contains("crates/a/src/real.rs"));
        assert!(!tests.contains("crates/a/src/inner.rs"));
    }
}
