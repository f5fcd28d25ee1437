//! Bodies that are not the reply, or not readable.

use std::time::Duration;

use loom_llm::error::MalformedReply;
use loom_llm::http::Timeouts;
use loom_llm::{ProviderFault, Remedy};
use serde_json::json;

use super::{broken_off, malformed, read, told};
use crate::peer::{Act, Peer, STREAM_HEAD, event, reply, text_event};

#[tokio::test]
async fn a_compressed_body_is_never_asked_for_and_refused_unread() {
    for header in [
        "content-encoding: gzip",
        "content-encoding: br",
        "Content-Encoding: Deflate",
        "content-encoding: zstd",
        "content-encoding: identity, gzip",
        "content-encoding: identity\r\ncontent-encoding: gzip",
        "transfer-encoding: gzip, chunked",
    ] {
        let head = STREAM_HEAD.replace("\r\n\r\n", &format!("\r\n{header}\r\n\r\n"));
        // Zeros compress a thousandfold; whoever would unpack them is lost.
        let script = vec![Act::Send(head.into_bytes()), Act::Flood(vec![0; 1 << 12])];
        let mut peer = Peer::start(vec![script]).await;
        let error = read(&peer, Timeouts::default()).await.unwrap_err();
        assert_eq!(malformed(&error), MalformedReply::Encoded, "{header}");
        let asked = peer.request().await.to_ascii_lowercase();
        assert!(!asked.contains("accept-encoding"), "{asked}");
        assert_eq!(peer.saw().await, crate::peer::Seen::HangUp);
    }
    let identity = STREAM_HEAD.replace("\r\n\r\n", "\r\ncontent-encoding: identity\r\n\r\n");
    assert_eq!(told([identity.as_bytes(), &super::whole()].concat()).await.unwrap(), "höchst fein");
}

#[tokio::test]
async fn the_compressed_body_of_an_error_says_nothing_and_its_status_does() {
    let script = vec![reply("429 Busy", "retry-after: 3\r\ncontent-encoding: gzip\r\n", "\x1f\u{8b}canary")];
    let error = read(&Peer::start(vec![script]).await, Timeouts::default()).await.unwrap_err();
    assert_eq!(error.remedy(), Remedy::RetryAfter(Duration::from_secs(3)));
    assert!(error.message().is_none());
}

#[tokio::test]
async fn an_empty_success_is_no_reply() {
    for head in ["204 No Content\r\n\r\n", "200 OK\r\ncontent-length: 0\r\n\r\n", "205 Reset\r\n\r\n"] {
        let error = told(format!("HTTP/1.1 {head}")).await.unwrap_err();
        assert!(matches!(error.fault(), ProviderFault::EndedEarly { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_success_that_holds_an_error_is_that_error_with_the_delay_of_its_head() {
    let busy = json!({"error": {"type": "overloaded_error", "message": "try later"}}).to_string();
    let whole = reply("200 OK", "retry-after: 9\r\ncontent-type: application/json\r\n", &busy);
    let streamed = [text_event("a"), event(&busy)].concat();
    let head = STREAM_HEAD.replace("\r\n\r\n", "\r\nretry-after-ms: 9000\r\n\r\n");
    let streamed = Act::Send([head.as_bytes(), &streamed].concat());
    for script in [whole, streamed] {
        let error = read(&Peer::start(vec![vec![script]]).await, Timeouts::default()).await.unwrap_err();
        assert!(matches!(error.fault(), ProviderFault::Reported { .. }), "{error}");
        assert_eq!(error.remedy(), Remedy::RetryAfter(Duration::from_secs(9)));
        assert_eq!(error.message().unwrap().expose_tainted(), "try later");
        assert!(!error.to_string().contains("later;"), "{error}");
    }
}

/// The delay that Google puts into the error itself counts with status 200 too, in a stream and in one piece.
#[tokio::test]
async fn a_success_that_holds_an_error_is_that_error_with_the_delay_in_it() {
    let details = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}]);
    let busy = json!({"error": {"code": 429, "message": "try later", "details": details}}).to_string();
    let whole = reply("200 OK", "content-type: application/json\r\n", &busy);
    let streamed = Act::Send([STREAM_HEAD.as_bytes(), &event(&busy)].concat());
    for script in [whole, streamed] {
        let error = read(&Peer::start(vec![vec![script]]).await, Timeouts::default()).await.unwrap_err();
        assert_eq!(error.remedy(), Remedy::RetryAfter(Duration::from_secs(17)));
    }
}

/// A page of markup is a wrong address, whatever it says that it is.
#[tokio::test]
async fn markup_is_no_reply_whatever_its_label() {
    for head in ["", "content-type: application/json\r\n", "content-type: text/event-stream\r\n"] {
        let page = reply("200 OK", head, "\n<!DOCTYPE html><p>Welcome");
        let error = read(&Peer::start(vec![vec![page]]).await, Timeouts::default()).await.unwrap_err();
        assert_eq!(*error.fault(), ProviderFault::Malformed { reason: MalformedReply::Html });
        assert_eq!(error.remedy(), Remedy::FixRequest);
    }
}

#[tokio::test]
async fn an_error_status_whose_body_never_comes_is_told_after_the_idle_time() {
    let mut timeouts = Timeouts::default();
    timeouts.idle = Duration::from_millis(40);
    for (body, message) in [("", None), ("half a sen", Some("half a sen"))] {
        let head = format!("HTTP/1.1 503 Busy\r\ncontent-length: 99\r\n\r\n{body}");
        let error = broken_off(vec![Act::Send(head.into_bytes()), Act::AwaitHangUp], timeouts).await;
        assert!(matches!(error.fault(), ProviderFault::Status { status: 503, .. }), "{error}");
        assert_eq!(error.message().map(|words| words.expose_tainted().as_str()), message);
    }
}
