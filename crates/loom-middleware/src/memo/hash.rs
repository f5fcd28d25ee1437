//! The hash of a key: a few multiplications a key, under two secret words of the memo.
//!
//! It only has to be hard to steer from outside, not to resist who reads it: nobody is told a hash, and keys that share one
//! merely take each other's place.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes the hashes of one memo.
pub(super) struct Hashing {
    first: u64,
    second: u64,
}

impl Hashing {
    /// Another one for each memo, so that nobody can know beforehand which keys share a hash.
    pub(super) fn new() -> Self {
        let random = RandomState::new();
        Self { first: random.hash_one(1), second: random.hash_one(2) }
    }
}

impl BuildHasher for Hashing {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { state: self.first, secret: self.second }
    }
}

/// Folded multiplication: the two halves of the 128-bit product of 16 bytes of text and the secrets, xored.
pub(super) struct Folded {
    state: u64,
    secret: u64,
}

impl Folded {
    #[inline]
    fn take(&mut self, bytes: [u8; 16]) {
        let word = u128::from_le_bytes(bytes);
        self.state = fold(self.state ^ low(word), self.secret ^ high(word));
    }
}

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        fold(self.state, self.secret)
    }

    fn write(&mut self, bytes: &[u8]) {
        // With the length in it, no text can stand for a longer one, nor its last bytes for others when they overlap.
        self.state = self.state.wrapping_add(bytes.len() as u64);
        for chunk in bytes.as_chunks::<16>().0 {
            self.take(*chunk);
        }
        self.take(bytes.last_chunk().copied().unwrap_or_else(|| padded(bytes)));
    }

    fn write_usize(&mut self, number: usize) {
        self.state = fold(self.state ^ number as u64, self.secret);
    }
}

/// A text of fewer than 16 bytes.
fn padded(short: &[u8]) -> [u8; 16] {
    let mut padded = [0; 16];
    padded.iter_mut().zip(short).for_each(|(place, byte)| *place = *byte);
    padded
}

fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    low(product) ^ high(product)
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn low(word: u128) -> u64 {
    word as u64
}

fn high(word: u128) -> u64 {
    low(word >> 64)
}

/// Passes on a hash that is one already.
#[derive(Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash << 8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn texts_that_differ_in_any_byte_or_in_their_length_differ_in_their_hash() {
        let hashing = Hashing { first: 0x243f_6a88_85a3_08d3, second: 0x1319_8a2e_0370_7344 };
        let mut hashes = HashSet::new();
        let mut texts = 0;
        for length in 0..80 {
            for at in 0..=length {
                let mut text = vec![0_u8; length];
                if let Some(byte) = text.get_mut(at) {
                    *byte = 1;
                }
                hashes.insert(hashing.hash_one(&text));
                texts += 1;
            }
        }
        assert_eq!(hashes.len(), texts);
    }

    #[test]
    fn hashes_are_spread_evenly_and_differ_from_memo_to_memo() {
        let hashing = Hashing { first: 0x243f_6a88_85a3_08d3, second: 0x1319_8a2e_0370_7344 };
        let mut eighths = [0_u32; 8];
        for number in 0..8000_u64 {
            eighths[(hashing.hash_one(number.to_string().into_bytes()) >> 61) as usize] += 1;
        }
        assert!(eighths.iter().all(|count| (850..1150).contains(count)), "{eighths:?}");
        let of = || Hashing::new().hash_one("key");
        assert_ne!(of(), of());
    }
}
