//! ASCII word boundaries, as the detectors mean them: a byte above 0x7F is no word byte, so text glued to a value
//! does not hide it.

/// Whether a byte is one of `[A-Za-z0-9_]`.
pub(crate) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether the byte before `at` is a word byte.
pub(crate) fn word_before(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| word_at(text, before))
}

/// Whether the byte at `at` is a word byte; the end of the text is none.
pub(crate) fn word_at(text: &[u8], at: usize) -> bool {
    text.get(at).copied().is_some_and(is_word)
}
