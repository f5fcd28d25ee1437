//! The test functions of the workspace and the rows that their doc comments name.

use super::spec::row_id;
use crate::source::Line;
use crate::workspace::Tree;

/// One test function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// The file it stands in.
    pub(crate) path: String,
    pub(crate) name: String,
    /// The line of its `fn`, from 1.
    pub(crate) line: usize,
    /// The rows its doc comment begins a line with, without `+`.
    pub(crate) rows: Vec<String>,
    pub(crate) ignored: bool,
}

impl Test {
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }
}

/// Every test function of the workspace's own Rust files.
pub(crate) fn tests_in(tree: &Tree) -> Vec<Test> {
    let ours =
        |path: &str| ["crates/", "tests/", "xtask/", "docs/"].iter().any(|folder| path.starts_with(folder));
    tree.sources.iter().filter(|(path, _)| ours(path)).flat_map(|(path, lines)| scan(path, lines)).collect()
}

/// What stands between the last item and the next: doc comments and attributes.
#[derive(Default)]
struct Pending {
    rows: Vec<String>,
    test: bool,
    ignored: bool,
    /// An attribute that has not closed yet.
    attribute: String,
}

fn scan(path: &str, lines: &[Line]) -> Vec<Test> {
    let mut found = Vec::new();
    let mut pending = Pending::default();
    for (at, line) in lines.iter().enumerate() {
        if let Some(doc) = line.comment.strip_prefix("///") {
            pending.rows.extend(rows_named(doc));
        }
        let mut code = line.code.trim();
        while !code.is_empty() {
            if pending.attribute.is_empty() && !code.starts_with("#[") {
                break;
            }
            code = pending.take_attribute(code);
        }
        if code.is_empty() {
            continue;
        }
        let done = std::mem::take(&mut pending);
        if let Some(name) = function_name(code)
            && done.test
        {
            let (path, name) = (path.to_owned(), name.to_owned());
            found.push(Test { path, name, line: at + 1, rows: done.rows, ignored: done.ignored });
        }
    }
    found
}

impl Pending {
    /// Takes code up to the end of the attribute it opens or continues; gives back what follows.
    fn take_attribute<'c>(&mut self, code: &'c str) -> &'c str {
        for (at, c) in code.char_indices() {
            self.attribute.push(c);
            let open = self.attribute.matches('[').count();
            if c == ']' && open == self.attribute.matches(']').count() {
                let attribute = std::mem::take(&mut self.attribute);
                self.note(&attribute);
                return code.get(at + 1..).unwrap_or_default().trim_start();
            }
        }
        self.attribute.push(' ');
        ""
    }

    fn note(&mut self, attribute: &str) {
        let inner = attribute.trim_start_matches("#[").trim_end_matches(']').trim();
        let path = inner.split(['(', '=']).next().unwrap_or_default().trim();
        match path.rsplit("::").next() {
            Some("test") => self.test = true,
            Some("ignore") => self.ignored = true,
            _ => {}
        }
    }
}

/// The name after `fn`, past visibility and qualifiers.
fn function_name(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "async", "const", "unsafe"];
    let word = words.find(|word| !qualifiers.contains(word))?;
    let rest = if word == "fn" { words.next()? } else { return None };
    rest.split(['(', '<']).next().filter(|name| !name.is_empty())
}

/// The rows that one doc line begins with: `D6: …`, `D6, D7: …`.
fn rows_named(doc: &str) -> Vec<String> {
    let Some((ids, _)) = doc.split_once(':') else { return Vec::new() };
    ids.split(',').map(row_id).collect::<Option<Vec<String>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lines;

    fn read(text: &str) -> Vec<(String, Vec<String>, bool)> {
        scan("a.rs", &lines(text)).into_iter().map(|test| (test.name, test.rows, test.ignored)).collect()
    }

    fn one(text: &str) -> (String, Vec<String>, bool) {
        let mut all = read(text);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn every_line_of_the_doc_block_may_name_rows() {
        let (name, rows, ignored) = one(
            "/// D6: a sink cannot hurt.\n/// It is caught.\n/// D7, T14+: and more.\n#[test]\nfn holds() {}",
        );
        assert_eq!((name.as_str(), ignored), ("holds", false));
        assert_eq!(rows, ["D6", "D7", "T14"]);
    }

    #[test]
    fn attributes_over_many_lines_and_in_any_order_are_read() {
        let text = "#[tokio::test(\n    flavor = \"multi_thread\"\n)]\n/// D6: x\n// why\n\n#[ignore = \"[slow]\"]\n\
                    pub(crate) async fn a() {}";
        assert_eq!(one(text), ("a".into(), vec!["D6".into()], true));
        assert_eq!(one("/// D6: x\n#[test] fn b() {}").1, ["D6"]);
    }

    #[test]
    fn a_test_inside_a_macro_counts_and_its_arguments_do_not_matter() {
        let text = "proptest! {\n    /// D17: any split.\n    #[test]\n    fn splits(text in \".*\", n in 0..9_usize) {}\n}";
        assert_eq!(one(text), ("splits".into(), vec!["D17".into()], false));
    }

    #[test]
    fn a_doc_on_anything_else_names_nothing() {
        assert_eq!(read("/// D6: x\nfn helper() {}\n#[test]\nfn a() {}"), [("a".into(), vec![], false)]);
        assert_eq!(
            read("/// D6: x\nstruct A;\n/// T1: y\n#[test]\nfn b() {}"),
            [("b".into(), vec!["T1".into()], false)]
        );
        assert_eq!(read("// D6: x\n#[test]\nfn c() {}"), [("c".into(), vec![], false)]);
        assert_eq!(read("\"/// D6: x\";\n#[test]\nfn d() {}").len(), 1);
        assert_eq!(read("/// Note: x\n/// D6 holds: y\n#[test]\nfn e() {}"), [("e".into(), vec![], false)]);
    }
}
