//! Text that cannot drive a terminal.

/// The text with everything in it that a terminal obeys, but for line breaks and tabs, as a visible sign: control
/// characters (C0 as their pictures, DEL and C1 as a replacement), and the marks that turn the direction of writing.
pub(super) fn neutral(text: &str) -> String {
    text.chars().map(shown).collect()
}

fn shown(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{61c}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let driven = "a\u{1b}[2Jb\u{7}\r\u{8}\u{9b}31m\u{202e}c\u{7f}";
        let shown = neutral(driven);
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(shown.starts_with("a\u{241b}[2Jb\u{2407}"), "{shown:?}");
    }

    #[test]
    fn honest_text_is_left_as_it_is() {
        let text = "tab\there\nnew line, é, 日本語, 🙂\u{200d}🙂, سلام";
        assert_eq!(neutral(text), text);
    }
}
