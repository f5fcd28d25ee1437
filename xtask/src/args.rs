//! Command lines, parsed by hand: named switches, options with a value, and plain words.

use std::collections::{BTreeMap, BTreeSet};

use crate::stop::Stop;

/// What a command accepts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Grammar {
    /// Flags without a value, with their dashes.
    pub(crate) switches: &'static [&'static str],
    /// Flags that take the next word (or what follows `=`) as their value.
    pub(crate) options: &'static [&'static str],
    /// How many plain words may stand.
    pub(crate) words_max: usize,
}

/// A command line that fitted its grammar.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    switches: BTreeSet<String>,
    options: BTreeMap<String, String>,
    /// The plain words, in order.
    pub(crate) words: Vec<String>,
}

impl Args {
    /// Fits `input` to `grammar`; an unknown flag, a missing value or a word too many is a usage error.
    pub(crate) fn parse(input: &[String], grammar: Grammar) -> Result<Self, Stop> {
        let mut args = Self::default();
        let mut rest = input.iter();
        while let Some(word) = rest.next() {
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            if grammar.switches.contains(&name) && inline.is_none() {
                args.switches.insert(name.to_owned());
            } else if grammar.options.contains(&name) {
                let value = inline.or_else(|| rest.next().cloned());
                let value = value.ok_or_else(|| Stop::Usage(format!("`{name}` expects a value")))?;
                args.options.insert(name.to_owned(), value);
            } else if name.starts_with('-') {
                return Err(Stop::Usage(format!("unknown flag `{name}`")));
            } else if args.words.len() == grammar.words_max {
                return Err(Stop::Usage(format!("unexpected word `{word}`")));
            } else {
                args.words.push(word.clone());
            }
        }
        Ok(args)
    }

    pub(crate) fn has(&self, switch: &str) -> bool {
        self.switches.contains(switch)
    }

    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        self.options.get(option).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: Grammar = Grammar { switches: &["--strict"], options: &["--sabotage"], words_max: 1 };

    fn parse(line: &str) -> Result<Args, Stop> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Args::parse(&words, GRAMMAR)
    }

    #[test]
    fn switches_options_and_words_are_told_apart() {
        let args = parse("--strict --sabotage edge call").unwrap();
        assert!(args.has("--strict"));
        assert_eq!(args.value("--sabotage"), Some("edge"));
        assert_eq!(args.words, ["call"]);
        assert_eq!(parse("--sabotage=edge").unwrap().value("--sabotage"), Some("edge"));
    }

    #[test]
    fn what_the_grammar_does_not_name_is_a_usage_error() {
        assert_eq!(parse("--nope"), Err(Stop::Usage("unknown flag `--nope`".into())));
        assert_eq!(parse("--strict=1"), Err(Stop::Usage("unknown flag `--strict`".into())));
        assert_eq!(parse("--sabotage"), Err(Stop::Usage("`--sabotage` expects a value".into())));
        assert_eq!(parse("one two"), Err(Stop::Usage("unexpected word `two`".into())));
    }
}
