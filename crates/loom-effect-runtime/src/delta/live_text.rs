//! A keyed hash of text that does not depend on how the text was split.
//!
//! What left the last guard is hashed delta by delta and compared with the output's own text at the end of the
//! attempt. It stands against careless middleware, not against somebody who knows the key.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Text is folded in words of this many bytes, whatever the pieces.
const WORD: usize = 8;
/// Bytes are gathered in a block of this many and folded when it is full.
const BLOCK: usize = 8 * WORD;

/// The running hash of one text.
#[derive(Clone, Debug)]
pub(crate) struct LiveHash {
    state: u64,
    key: u64,
    /// Blocks that were folded.
    blocks: u64,
    filled: usize,
    block: [u8; BLOCK],
}

impl LiveHash {
    pub(crate) fn new() -> Self {
        static KEY: OnceLock<u64> = OnceLock::new();
        let key = *KEY.get_or_init(|| RandomState::new().hash_one(WORD) | 1);
        Self { state: key.rotate_left(17), key, blocks: 0, filled: 0, block: [0; BLOCK] }
    }

    #[inline]
    pub(crate) fn update(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let end = self.filled + bytes.len();
        match self.block.get_mut(self.filled..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.filled = end;
            }
            None => self.overflow(bytes),
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        let mut last = self.clone();
        if let Some(open) = last.block.get_mut(last.filled..) {
            open.fill(0);
        }
        last.fold_block();
        last.fold(last.blocks.wrapping_mul(BLOCK as u64).wrapping_add(last.filled as u64));
        last.state
    }

    /// Takes bytes that do not fit behind what the block holds.
    #[cold]
    fn overflow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // A full block is folded when more comes, never before: so the state does not depend on the split.
            if self.filled == BLOCK {
                self.fold_block();
                self.blocks = self.blocks.wrapping_add(1);
                self.filled = 0;
            }
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            if let Some(place) = self.block.get_mut(self.filled..self.filled + now.len()) {
                place.copy_from_slice(now);
            }
            self.filled += now.len();
            bytes = later;
        }
    }

    fn fold_block(&mut self) {
        let block = self.block;
        let (words, _) = block.as_chunks::<WORD>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
    }

    /// Multiply and fold the high half back: every input bit reaches every state bit within two words.
    #[inline]
    fn fold(&mut self, word: u64) {
        let mixed = u128::from(self.state ^ word) * u128::from(self.key);
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
