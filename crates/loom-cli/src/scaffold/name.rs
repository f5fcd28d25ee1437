//! Names that a new crate may have.

use std::fmt;

/// The longest name of a crate, in bytes: what crates.io takes.
const NAME_BYTES_MAX: usize = 64;

/// Names that would be a crate's own, a keyword, or what the new crate depends on.
const TAKEN: [&str; 60] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "kit",
    "let",
    "loom-classify",
    "loom-effect-runtime",
    "loom-testing",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "tokio",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
];

/// A name that no crate of this kind can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidName {
    /// It is empty or too long.
    Length {
        /// How many bytes it has.
        bytes: usize,
    },
    /// It does not begin with a lower-case letter, ends with a dash, or has other characters than lower-case letters,
    /// digits, `-` and `_`.
    Characters,
    /// It means something else to the compiler, or is a crate that the new one depends on.
    Taken,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { bytes } => {
                write!(f, "a name of {bytes} bytes; expected 1 to {NAME_BYTES_MAX}")
            }
            Self::Characters => f.write_str(
                "expected a name of lower-case letters, digits, `-` and `_` that begins with a letter and ends with \
                 a letter or digit",
            ),
            Self::Taken => f.write_str("that name means something to the compiler or is a crate that is depended on"),
        }
    }
}

pub(super) fn check(name: &str) -> Result<(), InvalidName> {
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Err(InvalidName::Length { bytes: name.len() });
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let ends = name.bytes().last().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !(begins && ends && name.bytes().all(fits)) {
        return Err(InvalidName::Characters);
    }
    if TAKEN.contains(&name.replace('_', "-").as_str()) || TAKEN.contains(&name) {
        return Err(InvalidName::Taken);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_cargo_and_the_compiler_take() {
        for name in ["a", "my-guard", "my_guard2", &"x".repeat(NAME_BYTES_MAX)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["My", "2x", "-x", "x-", "a b", "é", "a/b", "../x", "a.b", "x\0"] {
            assert_eq!(check(name), Err(InvalidName::Characters), "{name}");
        }
        for name in ["fn", "test", "std", "loom-testing", "loom_testing", "tokio"] {
            assert_eq!(check(name), Err(InvalidName::Taken), "{name}");
        }
        assert_eq!(check(""), Err(InvalidName::Length { bytes: 0 }));
        assert_eq!(check(&"x".repeat(65)), Err(InvalidName::Length { bytes: 65 }));
    }
}
