//! What stands before the body.

use std::time::Duration;

use loom_llm::error::{Awaited, MalformedReply};
use loom_llm::http::{HttpConfig, REPLY_HEADERS_MAX, Timeouts};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::{ChatRequest, Message, Provider, ProviderFault, Remedy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{broken_off, malformed, told, whole};
use crate::peer::{Act, STREAM_HEAD, within};

/// A head that an honest server could send, with more headers in it.
fn head_with(headers: &str) -> Vec<u8> {
    STREAM_HEAD.replacen("\r\n", &format!("\r\n{headers}"), 1).into_bytes()
}

#[tokio::test]
async fn what_is_no_http_is_said_so_with_what_to_check() {
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.9\r\n"[..],
        b"<html>hello, this is HTTP/0.9</html>",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 twenty OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncanary without a colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\ncontent-length: 9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
    ] {
        let error = told(bytes).await.unwrap_err();
        assert_eq!(malformed(&error), MalformedReply::NotHttp, "{}", String::from_utf8_lossy(bytes));
        assert_eq!(error.remedy(), Remedy::FixRequest);
        assert!(error.to_string().contains("check the base URL's scheme and port"), "{error}");
        assert!(!format!("{error:?}").contains("canary"));
    }
}

#[tokio::test]
async fn a_reply_has_so_many_headers_and_no_more() {
    let own = STREAM_HEAD.matches(':').count();
    let fits = head_with(&"x: y\r\n".repeat(REPLY_HEADERS_MAX - own));
    assert_eq!(told([fits, whole()].concat()).await.unwrap(), "höchst fein");
    let more = head_with(&"x: y\r\n".repeat(REPLY_HEADERS_MAX - own + 1));
    assert_eq!(malformed(&told([more, whole()].concat()).await.unwrap_err()), MalformedReply::NotHttp);
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_read_for_ever() {
    for (start, more) in [
        ("HTTP/1.1 200 OK\r\nx: ", "yyyyyyyy".repeat(1_000)),
        ("HTTP/1.1 200 ", "OK".repeat(4_000)),
        ("HTTP/1.1 200 OK\r\n", "x: y\r\n".repeat(1_000)),
    ] {
        let script = vec![Act::Send(start.into()), Act::Flood(more.into_bytes())];
        let error = broken_off(script, Timeouts::default()).await;
        assert_eq!(malformed(&error), MalformedReply::NotHttp, "{start}");
    }
}

#[tokio::test]
async fn informational_replies_are_passed_over_and_an_endless_row_of_them_is_silence() {
    let hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(3);
    let bytes = [hints.as_bytes(), STREAM_HEAD.as_bytes(), &whole()].concat();
    assert_eq!(told(bytes).await.unwrap(), "höchst fein");
    let mut timeouts = Timeouts::default();
    timeouts.first_byte = Duration::from_millis(60);
    let error = broken_off(vec![Act::Flood(hints.into_bytes())], timeouts).await;
    let limit = timeouts.first_byte;
    assert!(
        matches!(error.fault(), ProviderFault::Silent { awaited: Awaited::FirstByte, limit: told, .. } if *told == limit),
        "{error}"
    );
}

#[tokio::test]
async fn a_reply_that_comes_before_the_request_is_read_counts() {
    let asked = ChatRequest::new("default", vec![Message::user("word ".repeat(1 << 20))]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = HttpConfig::new(format!("http://{}/v1", listener.local_addr().unwrap()));
    let peer = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut packet = vec![0; 1 << 10];
        let first = socket.read(&mut packet).await.unwrap();
        assert!(first > 0);
        let refusal = "HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig";
        socket.write_all(refusal.as_bytes()).await.unwrap();
        // The rest of the request is taken, so that no reset overtakes the reply.
        while socket.read(&mut packet).await.is_ok_and(|read| read > 0) {}
    });
    let provider = OpenAiCompatible::new("early", config).unwrap();
    let error = within(provider.stream(&asked)).await.map(drop).unwrap_err();
    assert!(matches!(error.fault(), ProviderFault::Status { status: 413, .. }), "{error}");
    assert_eq!(error.message().unwrap().expose_tainted(), "big");
    within(peer).await.unwrap();
}
