//! One deny pattern: what it is made of, and what it compiles to.

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use super::DenyPatternFault;
use crate::rule::{Finding, RuleId};

const PATTERN_BYTES_MAX: usize = 4 << 10;
const COMPILED_BYTES_MAX: usize = 1 << 20;
const LAZY_CACHE_BYTES_MAX: usize = 1 << 20;
const NESTING_MAX: u32 = 64;
const NAME_BYTES_MAX: usize = 64;

/// A literal or a regular expression that must not occur, with its options.
#[derive(Clone, Debug)]
pub struct DenyPattern {
    source: Source,
    name: Option<String>,
    ignoring_case: bool,
    word_bounded: bool,
}

#[derive(Clone, Debug)]
enum Source {
    Literal(String),
    Regex(String),
}

impl DenyPattern {
    /// A text that must not occur, matched as it is.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        Self::of(Source::Literal(text.into()))
    }

    /// A regular expression in the syntax of the `regex` crate (Unicode; write `(?-u:\b)` for an ASCII word
    /// boundary) of which no match must occur.
    #[must_use]
    pub fn regex(expression: impl Into<String>) -> Self {
        Self::of(Source::Regex(expression.into()))
    }

    /// Matches upper and lower case alike, by Unicode's simple case folding.
    #[must_use]
    pub const fn ignoring_case(mut self) -> Self {
        self.ignoring_case = true;
        self
    }

    /// Matches whole words only.
    ///
    /// A literal's edge that is an ASCII word character (`[A-Za-z0-9_]`) must stand at an ASCII word boundary, an
    /// edge that is another letter or digit at a Unicode one, and an edge that is neither (`C++`) anywhere. A
    /// regular expression must match between ASCII word boundaries.
    #[must_use]
    pub const fn word_bounded(mut self) -> Self {
        self.word_bounded = true;
        self
    }

    /// Names the pattern's rule `deny.<name>`; a name has 1 to 64 characters of `[a-z0-9_-]` and is not a number.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    const fn of(source: Source) -> Self {
        Self { source, name: None, ignoring_case: false, word_bounded: false }
    }

    /// Compiles the pattern as the `ordinal`-th of its set.
    pub(super) fn compile(&self, ordinal: usize) -> Result<Rule, DenyPatternFault> {
        let (Source::Literal(source) | Source::Regex(source)) = &self.source;
        if source.len() > PATTERN_BYTES_MAX {
            return Err(DenyPatternFault::TooLong { bytes: source.len(), max: PATTERN_BYTES_MAX });
        }
        let id = self.rule_id(ordinal)?;
        if let Source::Regex(expression) = &self.source {
            // Parsed alone first, so that `a)|(b` cannot close the group it is put in.
            self.parse(expression)?;
        }
        let expression = self.expression();
        let hir = self.parse(&expression)?;
        match hir.properties().minimum_len() {
            Some(0) => return Err(DenyPatternFault::MatchesEmpty),
            None => return Err(DenyPatternFault::MatchesNothing),
            Some(_) => {}
        }
        let regex = RegexBuilder::new(&expression)
            .case_insensitive(self.ignoring_case)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(LAZY_CACHE_BYTES_MAX)
            .nest_limit(NESTING_MAX)
            .build()
            .map_err(|_| DenyPatternFault::TooLarge { bytes_max: COMPILED_BYTES_MAX })?;
        Ok(Rule { id, regex, width_bytes_max: hir.properties().maximum_len() })
    }

    fn rule_id(&self, ordinal: usize) -> Result<RuleId, DenyPatternFault> {
        let Some(name) = &self.name else {
            return Ok(RuleId::owned(format!("deny.{ordinal}")));
        };
        let legal = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
        let number = name.bytes().all(|byte| byte.is_ascii_digit());
        if !legal || number || name.len() > NAME_BYTES_MAX {
            return Err(DenyPatternFault::Name);
        }
        Ok(RuleId::owned(format!("deny.{name}")))
    }

    fn expression(&self) -> String {
        match &self.source {
            Source::Literal(text) if self.word_bounded => {
                let edge = |char: Option<char>| char.map_or("", boundary_at);
                let (first, last) = (edge(text.chars().next()), edge(text.chars().next_back()));
                format!("{first}{}{last}", regex::escape(text))
            }
            Source::Literal(text) => regex::escape(text),
            Source::Regex(expression) if self.word_bounded => format!(r"(?-u:\b)(?:{expression})(?-u:\b)"),
            Source::Regex(expression) => expression.clone(),
        }
    }

    fn parse(&self, expression: &str) -> Result<Hir, DenyPatternFault> {
        let mut parser =
            ParserBuilder::new().case_insensitive(self.ignoring_case).nest_limit(NESTING_MAX).build();
        parser.parse(expression).map_err(|error| {
            let (column, reason) = match error {
                regex_syntax::Error::Parse(error) => (error.span().start.column, error.kind().to_string()),
                regex_syntax::Error::Translate(error) => {
                    (error.span().start.column, error.kind().to_string())
                }
                _ => (1, "unsupported".to_owned()),
            };
            DenyPatternFault::Syntax { column, reason }
        })
    }
}

fn boundary_at(edge: char) -> &'static str {
    match edge {
        '_' | '0'..='9' | 'A'..='Z' | 'a'..='z' => r"(?-u:\b)",
        edge if edge.is_alphanumeric() => r"\b",
        _ => "",
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: RuleId,
    regex: Regex,
    /// Bytes of the widest match; none if it has no bound.
    width_bytes_max: Option<usize>,
}

impl Rule {
    /// The leftmost match in `text`, given that `text[..from]` has none.
    ///
    /// A new match ends at `from` at the earliest (there only by what follows it, as in `-\b`), so it starts no
    /// more than its width before `from`.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<Finding> {
        let start =
            self.width_bytes_max.map_or(0, |width| text.floor_char_boundary(from.saturating_sub(width)));
        self.regex.find_at(text, start).map(|found| Finding::new(self.id.clone(), found.range()))
    }

    /// Shows `found` the match from every start in `text`.
    ///
    /// A search after a match reads again what the match may have read, which `scan_bytes_left` pays for. Where it
    /// cannot, the rest of the text counts as matched.
    pub(super) fn cover(&self, text: &str, scan_bytes_left: &mut usize, found: &mut dyn FnMut(Finding)) {
        let mut from = 0;
        while let Some(hit) = self.regex.find_at(text, from) {
            let rest = text.len() - hit.start();
            let read = self.width_bytes_max.map_or(rest, |width| width.min(rest));
            let paid = scan_bytes_left.checked_sub(read);
            *scan_bytes_left = paid.unwrap_or(0);
            if paid.is_none() {
                return found(Finding::new(self.id.clone(), hit.start()..text.len()));
            }
            found(Finding::new(self.id.clone(), hit.range()));
            from = text.ceil_char_boundary(hit.start() + 1);
        }
    }
}
