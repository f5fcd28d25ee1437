//! A keyed hash of text that does not depend on how the text was split.
//!
//! What left the last guard is hashed delta by delta and compared with the output's own text at the end of the
//! attempt. It stands against careless middleware, not against somebody who knows the key.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Text is folded in words of this many bytes, whatever the pieces.
const WORD: usize = 8;

/// The running hash of one text.
#[derive(Clone, Debug)]
pub(crate) struct LiveHash {
    state: u64,
    key: u64,
    /// Bytes that do not fill a word yet, the first lowest.
    open: u64,
    length: u64,
}

impl LiveHash {
    pub(crate) fn new() -> Self {
        static KEY: OnceLock<u64> = OnceLock::new();
        let key = *KEY.get_or_init(|| RandomState::new().hash_one(WORD) | 1);
        Self { state: key.rotate_left(17), key, open: 0, length: 0 }
    }

    #[inline]
    pub(crate) fn update(&mut self, text: &str) {
        let filled = (self.length as usize) % WORD;
        let shift = (filled * 8) as u32;
        let (words, rest) = text.as_bytes().as_chunks::<WORD>();
        for word in words {
            let word = u64::from_le_bytes(*word);
            self.fold(self.open | word << shift);
            self.open = word.checked_shr(u64::BITS - shift).unwrap_or(0);
        }
        if !rest.is_empty() {
            let word = short_word(rest);
            self.open |= word << shift;
            if filled + rest.len() >= WORD {
                self.fold(self.open);
                self.open = word.checked_shr(u64::BITS - shift).unwrap_or(0);
            }
        }
        self.length = self.length.wrapping_add(text.len() as u64);
    }

    pub(crate) fn finish(&self) -> u64 {
        let mut last = self.clone();
        last.fold(last.open);
        last.fold(last.length);
        last.state
    }

    /// Multiply and fold the high half back: every input bit reaches every state bit within two words.
    #[inline]
    fn fold(&mut self, word: u64) {
        let mixed = u128::from(self.state ^ word) * u128::from(self.key);
        self.state = (mixed as u64) ^ ((mixed >> 64) as u64).wrapping_add(self.key);
    }
}

/// Up to seven bytes as a word, the first lowest.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    match bytes.split_first_chunk::<4>() {
        Some((low, rest)) => u64::from(u32::from_le_bytes(*low)) | few_bytes(rest) << 32,
        None => few_bytes(bytes),
    }
}

#[inline]
fn few_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::LiveHash;

    fn whole(text: &str) -> u64 {
        let mut hash = LiveHash::new();
        hash.update(text);
        hash.finish()
    }

    proptest! {
        /// D11: the fold of a stream equals the output's text in every split.
        #[test]
        fn the_hash_does_not_depend_on_the_split(pieces in proptest::collection::vec(".{0,20}", 0..12)) {
            let mut hash = LiveHash::new();
            for piece in &pieces {
                hash.update(piece);
            }
            prop_assert_eq!(hash.finish(), whole(&pieces.concat()));
        }

        /// D11: another text gives another hash.
        #[test]
        fn another_text_gives_another_hash(a in ".{0,40}", b in ".{0,40}") {
            prop_assume!(a != b);
            prop_assert_ne!(whole(&a), whole(&b));
        }
    }

    #[test]
    fn trailing_zero_bytes_count() {
        assert_ne!(whole("a"), whole("a\0"));
        assert_ne!(whole(""), whole("\0\0\0\0\0\0\0\0"));
    }
}
