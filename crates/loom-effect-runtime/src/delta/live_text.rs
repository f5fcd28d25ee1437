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
    partial: [u8; WORD],
    filled: usize,
    length: u64,
}

impl LiveHash {
    pub(crate) fn new() -> Self {
        static KEY: OnceLock<u64> = OnceLock::new();
        let key = *KEY.get_or_init(|| RandomState::new().hash_one(WORD) | 1);
        Self { state: key.rotate_left(17), key, partial: [0; WORD], filled: 0, length: 0 }
    }

    pub(crate) fn update(&mut self, text: &str) {
        let mut bytes = text.as_bytes();
        self.length = self.length.wrapping_add(bytes.len() as u64);
        if self.filled > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(WORD - self.filled));
            self.stash(head);
            bytes = rest;
            if self.filled < WORD {
                return;
            }
            self.fold(self.partial);
            self.filled = 0;
        }
        let (words, rest) = bytes.as_chunks::<WORD>();
        for word in words {
            self.fold(*word);
        }
        self.stash(rest);
    }

    pub(crate) fn finish(&self) -> u64 {
        let mut last = self.clone();
        if let Some(open) = last.partial.get_mut(last.filled..) {
            open.fill(0);
        }
        last.fold(last.partial);
        last.fold(last.length.to_le_bytes());
        last.state
    }

    fn stash(&mut self, bytes: &[u8]) {
        for (place, byte) in self.partial.iter_mut().skip(self.filled).zip(bytes) {
            *place = *byte;
        }
        self.filled += bytes.len();
    }

    /// Multiply and fold the high half back: every input bit reaches every state bit within two words.
    fn fold(&mut self, word: [u8; WORD]) {
        let mixed =
            u128::from(self.state ^ u64::from_le_bytes(word)).wrapping_mul(u128::from(self.key) << 1 | 1);
        self.state = (mixed as u64) ^ ((mixed >> 64) as u64).wrapping_add(self.key);
    }
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
