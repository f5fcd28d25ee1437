//! Text that cannot drive a terminal.

/// The text with everything in it that a terminal obeys, but for line breaks and tabs, as a visible sign: control
/// characters (C0 as their pictures, DEL and C1 as a replacement), the marks that break a line, turn the direction of
/// writing or shape it unseen, those of annotations, and the tags.
pub(crate) fn neutral(text: &str) -> String {
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
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => char::REPLACEMENT_CHARACTER,
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
    fn marks_that_nobody_sees_are_seen() {
        let ranges = [0x2028..=0x202e, 0x2066..=0x206f, 0xfff9..=0xfffb, 0xe0000..=0xe007f];
        for mark in ranges.into_iter().flatten().map(|mark| char::from_u32(mark).unwrap()) {
            assert_eq!(neutral(&format!("a{mark}b")), "a\u{fffd}b", "{mark:?}");
        }
        for honest in ['\u{2027}', '\u{202f}', '\u{2065}', '\u{2070}', '\u{fff8}', '\u{fffc}', '\u{e0080}'] {
            assert_eq!(neutral(&honest.to_string()), honest.to_string());
        }
    }

    #[test]
    fn honest_text_is_left_as_it_is() {
        let text = "tab\there\nnew line, é, 日本語, 🙂\u{200d}🙂, سلام";
        assert_eq!(neutral(text), text);
    }
}
