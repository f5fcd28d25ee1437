//! Replies without end. What each holds in memory meanwhile is measured in `tests/bounded.rs`.

use std::time::Duration;

use loom_llm::ProviderFault;
use loom_llm::error::{Awaited, MalformedReply};
use loom_llm::http::Timeouts;
use loom_llm::sse::SseError;

use super::{broken_off, malformed};
use crate::peer::{Act, STREAM_HEAD, event};

/// A flood behind the start of a streamed reply.
fn flood(start: &str, more: Vec<u8>) -> Vec<Act> {
    vec![Act::Send([STREAM_HEAD, start].concat().into_bytes()), Act::Flood(more)]
}

#[tokio::test]
async fn every_endless_reply_ends_at_the_bound_that_it_breaks() {
    let block = 1 << 16;
    let pad = "x".repeat(block);
    let without_a_choice = event(&format!("{{\"choices\": [], \"pad\": \"{pad}\"}}"));
    for (what, start, more, expected) in [
        ("line", "data: ", vec![b'x'; block], SseError::LineTooLong.into()),
        ("comment", ":", vec![b'x'; block], SseError::LineTooLong.into()),
        ("white space", "", vec![b' '; block], MalformedReply::TooLarge),
        ("event", "data: ", format!("{pad}\ndata: ").into_bytes(), SseError::EventTooLarge.into()),
        ("events without a choice", "", without_a_choice, SseError::BodyTooLong.into()),
        ("keep-alives", "", format!(": {pad}\n\n").into_bytes(), SseError::BodyTooLong.into()),
        ("names of events", "", format!("event: {pad}\n\n").into_bytes(), SseError::BodyTooLong.into()),
        ("document", "{\"x\": \"", vec![b'x'; block], MalformedReply::TooLarge),
    ] {
        let error = broken_off(flood(start, more), Timeouts::default()).await;
        assert_eq!(malformed(&error), expected, "{what}");
    }
}

#[tokio::test]
async fn keep_alives_that_drip_for_ever_are_bounded_by_the_time_for_the_whole_reply() {
    let mut timeouts = Timeouts::default();
    timeouts.total = Some(Duration::from_millis(60));
    let error = broken_off(flood("", b":\n".to_vec()), timeouts).await;
    let ProviderFault::Silent { awaited, limit, .. } = error.fault() else { panic!("{error}") };
    assert_eq!((*awaited, Some(*limit)), (Awaited::WholeReply, timeouts.total));
}
