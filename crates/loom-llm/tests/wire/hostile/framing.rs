//! Bodies whose length is a lie, whose chunks are bombs, and connections that end where they should not.

use loom_llm::ProviderFault;
use loom_llm::error::MalformedReply;
use loom_llm::http::Timeouts;

use super::{broken_off, malformed, told, told_by, whole};
use crate::peer::{Act, STREAM_HEAD, text_event};

fn sized(length: usize, body: &[u8]) -> Vec<u8> {
    let head = STREAM_HEAD.replace("\r\n\r\n", &format!("\r\ncontent-length: {length}\r\n\r\n"));
    [head.as_bytes(), body].concat()
}

fn chunked_head() -> Vec<u8> {
    STREAM_HEAD.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes()
}

fn in_chunks(body: &[u8], size: usize) -> Vec<u8> {
    let chunks = body
        .chunks(size)
        .flat_map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
    [chunked_head(), chunks.collect(), b"0\r\n\r\n".to_vec()].concat()
}

#[tokio::test]
async fn one_byte_at_a_time_changes_nothing() {
    let plain = [STREAM_HEAD.as_bytes(), &whole()].concat();
    for bytes in [plain, sized(whole().len(), &whole()), in_chunks(&whole(), 1)] {
        assert_eq!(told_by(vec![Act::Split(bytes, 1)]).await.unwrap(), "höchst fein");
    }
}

#[tokio::test]
async fn a_body_longer_than_its_length_says_is_not_read_further() {
    let first = text_event("höchst");
    let error = told(sized(first.len(), &whole())).await.unwrap_err();
    assert!(matches!(error.fault(), ProviderFault::EndedEarly { .. }), "{error}");
    assert_eq!(told(sized(whole().len(), &[whole(), whole()].concat())).await.unwrap(), "höchst fein");
}

/// The places: in the middle of a character, of an event, of a line end, and at the start.
#[tokio::test]
async fn a_connection_that_ends_too_soon_is_told_apart_by_whether_the_body_said_its_length() {
    let body = text_event("höchst");
    let character = body.iter().position(|byte| *byte == "ö".as_bytes()[0]).unwrap() + 1;
    for cut in [0, 3, character, body.len() - 4, body.len() - 1, body.len()] {
        let said = told(sized(whole().len(), &body[..cut])).await.unwrap_err();
        assert!(matches!(said.fault(), ProviderFault::Disconnected { .. }), "{cut}: {said}");
        let chunk = [chunked_head(), format!("{:x}\r\n", body.len()).into_bytes(), body[..cut].to_vec()];
        let chunked = told(chunk.concat()).await.unwrap_err();
        assert!(matches!(chunked.fault(), ProviderFault::Disconnected { .. }), "{cut}: {chunked}");
        let unsaid = told([STREAM_HEAD.as_bytes(), &body[..cut]].concat()).await.unwrap_err();
        assert!(matches!(unsaid.fault(), ProviderFault::EndedEarly { .. }), "{cut}: {unsaid}");
    }
}

#[tokio::test]
async fn chunks_that_break_the_framing_are_no_http() {
    for chunk in ["zz\r\n", "-1\r\n", "\r\n", "fffffffffffffffff\r\n", "3\r\nabcdef\r\n", " 3\r\n"] {
        let error = told([&chunked_head()[..], chunk.as_bytes()].concat()).await.unwrap_err();
        assert_eq!(malformed(&error), MalformedReply::NotHttp, "{chunk:?}");
    }
}

#[tokio::test]
async fn chunk_extensions_and_trailers_without_end_are_broken_off() {
    let body = text_event("a");
    let chunk = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    for (start, more) in [
        (&b"5;ext="[..], b"bomb".repeat(1_000)),
        (b"0\r\n", b"x: y\r\n".repeat(1_000)),
        (b"0\r\nx: ", b"bomb".repeat(1_000)),
    ] {
        let started = [chunked_head(), chunk.clone(), start.to_vec()].concat();
        let script = vec![Act::Send(started), Act::Flood(more)];
        let error = broken_off(script, Timeouts::default()).await;
        assert_eq!(malformed(&error), MalformedReply::NotHttp, "{}", String::from_utf8_lossy(start));
    }
}
