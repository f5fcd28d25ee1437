//! Splits source text into code, comments and literals.

use std::iter::Peekable;
use std::str::Chars;

use super::Line;

pub(super) fn split(text: &str) -> Vec<Line> {
    let mut lexer = Lexer { chars: text.chars().peekable(), done: Vec::new(), line: Line::default() };
    lexer.run();
    lexer.done
}

struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    done: Vec<Line>,
    line: Line,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                '\n' => self.end_line(),
                '/' if self.chars.peek() == Some(&'/') => self.line_comment(),
                '/' if self.chars.peek() == Some(&'*') => self.block_comment(),
                '"' => self.string(),
                'r' if self.starts_word() => self.raw_string(),
                '\'' => self.quote(),
                _ => self.line.code.push(c),
            }
        }
        if self.line != Line::default() {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        self.done.push(std::mem::take(&mut self.line));
    }

    /// Whether the `r` just read can open a raw string: it stands alone or after a `b` or `c` that does.
    fn starts_word(&self) -> bool {
        let code = &self.line.code;
        let before = code.strip_suffix(['b', 'c']).unwrap_or(code);
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    fn line_comment(&mut self) {
        self.line.comment.push('/');
        while let Some(c) = self.chars.next_if(|c| *c != '\n') {
            self.line.comment.push(c);
        }
    }

    fn block_comment(&mut self) {
        self.line.comment.push('/');
        let mut depth = 0_usize;
        let mut last = '/';
        while let Some(c) = self.chars.next() {
            if c == '\n' {
                self.end_line();
            } else {
                self.line.comment.push(c);
            }
            match (last, c) {
                ('/', '*') => (depth, last) = (depth + 1, ' '),
                ('*', '/') => (depth, last) = (depth.saturating_sub(1), ' '),
                _ => last = c,
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.line.code.push('"');
        let mut inside = String::new();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => break,
                '\\' => {
                    inside.push('\\');
                    if let Some(escaped) = self.chars.next() {
                        self.string_char(escaped, &mut inside);
                    }
                }
                c => self.string_char(c, &mut inside),
            }
        }
        self.close_string(inside);
    }

    fn raw_string(&mut self) {
        self.line.code.push('r');
        let mut hashes = 0_usize;
        while self.chars.next_if_eq(&'#').is_some() {
            self.line.code.push('#');
            hashes += 1;
        }
        if self.chars.next_if_eq(&'"').is_none() {
            return;
        }
        self.line.code.push('"');
        let mut inside = String::new();
        while let Some(c) = self.chars.next() {
            if c != '"' {
                self.string_char(c, &mut inside);
                continue;
            }
            let mut closing = 0_usize;
            while closing < hashes && self.chars.next_if_eq(&'#').is_some() {
                closing += 1;
            }
            if closing == hashes {
                break;
            }
            inside.push('"');
            inside.extend(std::iter::repeat_n('#', closing));
        }
        self.close_string(inside);
    }

    fn string_char(&mut self, c: char, inside: &mut String) {
        inside.push(c);
        if c == '\n' {
            self.end_line();
        }
    }

    fn close_string(&mut self, inside: String) {
        self.line.code.push('"');
        self.line.literals.push(inside);
    }

    /// A char literal is blanked out; a lifetime stays.
    fn quote(&mut self) {
        self.line.code.push('\'');
        let mut ahead = self.chars.clone();
        let escaped = match (ahead.next(), ahead.next()) {
            (Some('\\'), _) => true,
            (Some(_), Some('\'')) => false,
            _ => return,
        };
        self.chars.next();
        if escaped {
            self.chars.next();
        }
        while let Some(c) = self.chars.next_if(|c| *c != '\n') {
            if c == '\'' {
                break;
            }
        }
        self.line.code.push('\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        split(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_are_no_code_even_when_nested() {
        assert_eq!(code("a /* b /* c */ d */ e // f\ng"), ["a  e ", "g"]);
        assert_eq!(code("a /* b\n c */ d"), ["a ", " d"]);
        assert_eq!(split("x // why\n")[0].comment, "// why");
    }

    #[test]
    fn strings_keep_their_quotes_and_lose_their_insides() {
        let lines = split(r####"f("a \" // b", r#"c " d"#, b"e", r"\") // g"####);
        assert_eq!(lines[0].code, r###"f("", r#"", b"", r"") "###);
        assert_eq!(lines[0].literals, [r#"a \" // b"#, r#"c " d"#, "e", r"\"]);
    }

    #[test]
    fn a_string_over_two_lines_still_counts_lines() {
        assert_eq!(code("let a = \"x\ny\"; b"), ["let a = \"", "\"; b"]);
    }

    #[test]
    fn lifetimes_and_chars_are_told_apart() {
        assert_eq!(
            code(r#"fn a<'x>(c: &'x str) { '{'; '\''; '\u{7b}'; b'"' }"#),
            ["fn a<'x>(c: &'x str) { ''; ''; ''; b'' }"]
        );
    }

    #[test]
    fn a_raw_identifier_is_code() {
        assert_eq!(code("r#type + for r in bar"), ["r#type + for r in bar"]);
    }
}
