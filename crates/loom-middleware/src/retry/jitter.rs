//! Where the pauses get their jitter from: a small generator with a known seed.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom_effect_runtime::CallInfo;

/// Makes the generator of a call.
#[derive(Clone)]
pub(super) struct Seeds {
    seed: u64,
    /// Tells calls with the same facts apart; touched only by a call whose attempt failed.
    drawn: Option<Arc<AtomicU64>>,
}

impl Seeds {
    /// Another sequence in each process and each call, so that callers that failed together do not return together.
    pub(super) fn of_process() -> Self {
        Self { seed: RandomState::new().hash_one("retry"), drawn: Some(Arc::default()) }
    }

    /// The same sequence for the same call facts.
    pub(super) fn given(seed: u64) -> Self {
        Self { seed, drawn: None }
    }

    pub(super) fn of(&self, call: &CallInfo) -> Jitter {
        let mut state = fold(fold(self.seed, call.execution_id()), call.step_id());
        if let Some(key) = call.call_key() {
            state = fold(state, key.decision()).wrapping_add(key.ordinal());
        }
        if let Some(drawn) = &self.drawn {
            state ^= mix(drawn.fetch_add(1, Ordering::Relaxed));
        }
        Jitter(state)
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014). Not for secrets.
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

/// FNV-1a over `text`, its end marked so that two neighbouring texts cannot trade bytes.
fn fold(state: u64, text: &str) -> u64 {
    let bytes = text.bytes().chain(std::iter::once(0xff));
    bytes.fold(state, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_sequence() {
        let mut jitter = Jitter(1_234_567);
        let drawn = [jitter.draw(), jitter.draw(), jitter.draw()];
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_are_spread_evenly() {
        let mut jitter = Jitter(fold(7, "call"));
        let mut eighths = [0_u32; 8];
        for _ in 0..8000 {
            eighths[(jitter.draw() >> 61) as usize] += 1;
        }
        assert!(eighths.iter().all(|count| (850..1150).contains(count)), "{eighths:?}");
    }

    #[test]
    fn neighbouring_texts_do_not_trade_bytes() {
        assert_ne!(fold(fold(0, "ab"), "c"), fold(fold(0, "a"), "bc"));
    }
}
