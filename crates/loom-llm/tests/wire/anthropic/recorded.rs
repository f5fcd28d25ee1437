//! Recorded streams come out as they stand, however their bytes are packed.

use futures::StreamExt;
use loom_llm::Provider;
use proptest::prelude::*;

use super::said::{Said, recordings};
use super::{decode, fold, provider};
use crate::peer::{Act, Peer, request, within};

/// D3: with the usage that stands in the file, figure by figure the last that was told.
#[tokio::test]
async fn recorded_streams_come_out_as_they_stand_over_loopback() {
    for recording in recordings() {
        let body = recording.encoded();
        for size in [1, 997, usize::MAX] {
            // Single-byte packets only for the short ones: each is a system call.
            let size = if size == 1 && body.len() > 6_000 { 61 } else { size };
            let peer = Peer::streaming(vec![Act::Split(body.clone(), size)]).await;
            let provider = provider(&peer);
            let stream = provider.stream(&request()).await.unwrap();
            let chunks: Vec<_> = within(stream.collect()).await;
            let reply = fold(chunks.into_iter().map(|chunk| chunk.unwrap()).collect());
            assert_eq!(Said::from(reply), recording.said(), "{} in packets of {size}", recording.name);
        }
    }
}

#[test]
fn recorded_streams_decode_alike_split_in_two_at_every_byte() {
    for recording in recordings() {
        let body = recording.encoded();
        let (whole, error) = decode([&*body]);
        assert!(error.is_none(), "{}: {error:?}", recording.name);
        assert_eq!(Said::from(fold(whole.clone())), recording.said(), "{}", recording.name);
        // A stride for the long ones keeps a quadratic test short; single bytes split them everywhere at once.
        let stride = if body.len() > 3_000 { 83 } else { 1 };
        for split in (0..=body.len()).step_by(stride) {
            let (chunks, error) = decode([&body[..split], &body[split..]]);
            assert!(error.is_none(), "{} at {split}: {error:?}", recording.name);
            assert_eq!(chunks, whole, "{} at {split}", recording.name);
        }
        for size in [1, 2, 3, 1021] {
            assert_eq!(decode(body.chunks(size)).0, whole, "{} in packets of {size}", recording.name);
        }
    }
}

proptest! {
    #[test]
    fn any_split_of_any_recording_gives_the_same_chunks(
        which in any::<prop::sample::Index>(),
        splits in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let recordings = recordings();
        if !recordings.is_empty() {
            let body = which.get(&recordings).encoded();
            let mut splits: Vec<usize> = splits.iter().map(|split| split.index(body.len())).collect();
            splits.extend([0, body.len()]);
            splits.sort_unstable();
            let (chunks, error) = decode(splits.windows(2).map(|pair| &body[pair[0]..pair[1]]));
            prop_assert!(error.is_none());
            prop_assert_eq!(chunks, decode([&*body]).0);
        }
    }
}
