//! Tool-call arguments as they read once their JSON escapes are undone.

use loom_effect_runtime::Violation;

use crate::delta::DeltaJudge;

/// Judges the arguments as written and, beside that, with the escapes of JSON strings undone, so that `\u0034111…`
/// is judged as `4111…`.
///
/// A violation in the undone text is placed in the undone text.
pub(crate) struct UnescapedJudge {
    written: Box<dyn DeltaJudge>,
    undone: Box<dyn DeltaJudge>,
    escape: Escape,
    piece: String,
}

impl UnescapedJudge {
    pub(crate) fn new(written: Box<dyn DeltaJudge>, undone: Box<dyn DeltaJudge>) -> Self {
        Self { written, undone, escape: Escape::None, piece: String::new() }
    }
}

impl DeltaJudge for UnescapedJudge {
    fn push(&mut self, delta: &str) -> Result<(), Violation> {
        self.written.push(delta)?;
        self.piece.clear();
        for char in delta.chars() {
            if let Some(char) = self.escape.step(char) {
                self.piece.push(char);
            }
        }
        if self.piece.is_empty() { Ok(()) } else { self.undone.push(&self.piece) }
    }
}

/// Where in an escape the text stands; it may be cut anywhere.
#[derive(Clone, Copy)]
enum Escape {
    None,
    Backslash,
    Unicode { digits: u8, unit: u16 },
}

impl Escape {
    /// The character that `char` completes, if it completes one.
    ///
    /// A surrogate pair becomes two replacement characters: no shipped pattern needs what is beyond the basic plane
    /// in an escape.
    fn step(&mut self, char: char) -> Option<char> {
        let (next, out) = match (*self, char) {
            (Self::None, '\\') => (Self::Backslash, None),
            (Self::None, char) => (Self::None, Some(char)),
            (Self::Backslash, 'u') => (Self::Unicode { digits: 0, unit: 0 }, None),
            (Self::Backslash, 'n') => (Self::None, Some('\n')),
            (Self::Backslash, 't') => (Self::None, Some('\t')),
            (Self::Backslash, 'r') => (Self::None, Some('\r')),
            (Self::Backslash, 'b') => (Self::None, Some('\u{8}')),
            (Self::Backslash, 'f') => (Self::None, Some('\u{c}')),
            (Self::Backslash, char) => (Self::None, Some(char)),
            (Self::Unicode { digits, unit }, char) => {
                match char.to_digit(16).and_then(|digit| u16::try_from(digit).ok()) {
                    None => (Self::None, Some(char)),
                    Some(digit) if digits < 3 => {
                        (Self::Unicode { digits: digits + 1, unit: unit << 4 | digit }, None)
                    }
                    Some(digit) => {
                        let unit = u32::from(unit << 4 | digit);
                        (Self::None, Some(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)))
                    }
                }
            }
        };
        *self = next;
        out
    }
}

#[cfg(test)]
mod tests {
    use crate::delta::DeltaCheck;
    use crate::validator::PiiValidator;

    use super::*;

    fn severed(text: &str, step: usize) -> bool {
        let pii = PiiValidator::default();
        let mut judge = UnescapedJudge::new(pii.judge(), pii.judge());
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(step).any(|chunk| judge.push(&chunk.iter().collect::<String>()).is_err())
    }

    /// D20: escapes in tool-call arguments do not hide a value, wherever the arguments are cut.
    #[test]
    fn json_escapes_do_not_hide_a_value() {
        for step in 1..9 {
            assert!(severed(r#"{"to":"jane\u0040example\u002ecom"}"#, step));
            assert!(severed(r#"{"n":"\u0034111\u0020111111111111"}"#, step));
            assert!(severed(r#"{"n":"a\n4111111111111111"}"#, step));
            assert!(!severed(r#"{"n":"\u0034\\u0034 \ud83d\ude42 ok"}"#, step));
        }
    }
}
