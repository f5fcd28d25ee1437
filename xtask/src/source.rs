//! A line-based reading of Rust source: what is code, what is comment, what is a string, what is test.
//!
//! It is not a parser. It knows just enough of the lexical grammar (nested comments, raw strings, char literals
//! against lifetimes) that a word in a string or a doc example is never taken for code.

mod lexer;
mod region;

pub(crate) use region::test_modules;

/// One line of a source file, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code, with comments removed and the insides of string and char literals blanked out.
    pub(crate) code: String,
    /// The comment text of the line, markers included.
    pub(crate) comment: String,
    /// The insides of the string literals that end on this line.
    pub(crate) literals: Vec<String>,
    /// Whether the line belongs to an item behind `#[cfg(test)]` or to a `#[test]` function.
    pub(crate) test: bool,
}

/// Takes a file apart, one entry per line.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut lines = lexer::split(text);
    region::mark_tests(&mut lines);
    lines
}
