//! How a body reaches a decoder: in which packets, and how eagerly what it says is taken. Here the harness itself can
//! be made faulty, to see that its targets notice.

use std::sync::LazyLock;
use std::time::Duration;

use crate::dice::Dice;

/// A fault of the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// Where a packet ends, the next byte is lost.
    DroppedByte,
    /// Of a body in packets, the error that ends it is not told.
    SwallowedError,
}

/// The fault that the environment asks for.
pub(crate) static SABOTAGE: LazyLock<Option<Sabotage>> =
    LazyLock::new(|| match std::env::var("LOOM_FUZZ_SABOTAGE").ok()?.as_str() {
        "dropped-byte" => Some(Sabotage::DroppedByte),
        "swallowed-error" => Some(Sabotage::SwallowedError),
        other => panic!("expected dropped-byte or swallowed-error as LOOM_FUZZ_SABOTAGE, got {other}"),
    });

/// How long a failing input is shrunk: what is sabotaged needs no small example.
pub(crate) fn shrink_time() -> Duration {
    if SABOTAGE.is_some() { Duration::ZERO } else { Duration::from_secs(5) }
}

/// One packet, and how many of the pieces that it completes are taken before the next one comes.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) bytes: Vec<u8>,
    pub(crate) take: usize,
}

/// How many packets a long body is split into at most, where their sizes are small.
const PACKETS_ABOUT: usize = 1_000;

/// All at once, everything taken.
pub(crate) fn whole(body: &[u8]) -> Vec<Packet> {
    vec![Packet { bytes: body.to_vec(), take: usize::MAX }]
}

/// In any split, empty packets included.
pub(crate) fn split(body: &[u8], dice: &mut Dice<'_>) -> Vec<Packet> {
    let (mut packets, mut rest) = (Vec::new(), body);
    // A long body in single bytes shows no more than a short one does, and takes long.
    let least = body.len() / PACKETS_ABOUT;
    let size_max = dice.one_of(&[1, 2, 3, 7, 64, 1400, 65_536]) + least;
    let lazy = dice.once_in(4);
    while !rest.is_empty() {
        let size = (dice.below(size_max + 1) + least).min(rest.len());
        // Draws of 0 alone would never come to the end.
        let size = if dice.is_spent() { size_max.min(rest.len()) } else { size };
        let (packet, behind) = rest.split_at(size);
        let take = if lazy { dice.below(3) } else { usize::MAX };
        packets.push(Packet { bytes: packet.to_vec(), take });
        rest = behind;
    }
    if *SABOTAGE == Some(Sabotage::DroppedByte)
        && let Some(second) = packets.iter_mut().skip(1).find(|packet| !packet.bytes.is_empty())
    {
        second.bytes.remove(0);
    }
    packets
}

/// What the harness hears of the error that ended a body in packets.
pub(crate) fn heard<E>(error: Option<E>) -> Option<E> {
    error.filter(|_| *SABOTAGE != Some(Sabotage::SwallowedError))
}
