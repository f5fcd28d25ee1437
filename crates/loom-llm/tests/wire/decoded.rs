//! What a reply decodes to, without a network.

use loom_llm::{DecodeError, LlmChunk, ReplyDecoder};

/// What a body decodes to when it comes in these packets, and the error that ends it if one does.
pub(crate) fn decoded_by<'b>(
    mut decoder: ReplyDecoder,
    packets: impl IntoIterator<Item = &'b [u8]>,
) -> (Vec<LlmChunk>, Option<DecodeError>) {
    let mut chunks = Vec::new();
    let mut take = |decoder: &mut ReplyDecoder| loop {
        match decoder.next_chunk() {
            Ok(Some(chunk)) => chunks.push(chunk),
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    };
    for packet in packets {
        decoder.push(packet);
        if let Some(error) = take(&mut decoder) {
            return (chunks, Some(error));
        }
    }
    decoder.finish();
    let error = take(&mut decoder);
    assert!(decoder.is_over(), "an ended body leaves nothing to wait for");
    (chunks, error)
}
