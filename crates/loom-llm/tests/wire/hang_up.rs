//! Whoever stops reading closes the connection, and the provider's server sees it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use loom_llm::collect::Stopped;
use loom_llm::http::HttpConfig;
use loom_llm::openai::OpenAiCompatible;
use loom_llm::tls::Roots;
use loom_llm::{ChatRequest, LlmChunk, Message, Provider, collect_stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::peer::{Act, Peer, STREAM_HEAD, Seen, event, request, text_event, within};

/// The peer must see the hang-up within a second of it.
pub(crate) async fn sees_hang_up(peer: &mut Peer, since: Instant) {
    assert_eq!(peer.saw().await, Seen::HangUp);
    assert!(since.elapsed() < Duration::from_secs(1), "after {:?}", since.elapsed());
}

/// D15: a dropped stream closes the upstream connection within a second, be the provider silent or talking.
#[tokio::test]
async fn a_dropped_stream_is_seen_by_the_server() {
    for rest in [Act::AwaitHangUp, Act::Flood(text_event("more"))] {
        let mut peer = Peer::streaming(vec![Act::Send(text_event("a")), rest]).await;
        let mut stream = peer.provider().stream(&request()).await.unwrap();
        assert!(within(stream.next()).await.unwrap().is_ok());
        peer.request().await;
        let since = Instant::now();
        drop(stream);
        sees_hang_up(&mut peer, since).await;
    }
}

#[tokio::test]
async fn a_chunked_stream_with_an_open_end_closes_too() {
    let head = STREAM_HEAD.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n");
    let body = text_event("a");
    let chunk = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    let script = vec![Act::Send(head.into_bytes()), Act::Send(chunk), Act::AwaitHangUp];
    let mut peer = Peer::start(vec![script]).await;
    let mut stream = peer.provider().stream(&request()).await.unwrap();
    assert!(within(stream.next()).await.unwrap().is_ok());
    peer.request().await;
    let since = Instant::now();
    drop(stream);
    sees_hang_up(&mut peer, since).await;
}

#[tokio::test]
async fn a_call_dropped_before_its_reply_begins_is_seen_by_the_server() {
    let mut peer = Peer::start(vec![vec![Act::AwaitHangUp]]).await;
    let provider = peer.provider();
    let call = tokio::spawn(async move { provider.stream(&request()).await.map(drop) });
    peer.request().await;
    let since = Instant::now();
    call.abort();
    sees_hang_up(&mut peer, since).await;
}

#[tokio::test]
async fn a_stream_that_failed_holds_no_connection_even_if_it_is_kept() {
    let mut peer = Peer::streaming(vec![Act::Send(event("not json")), Act::AwaitHangUp]).await;
    let mut stream = peer.provider().stream(&request()).await.unwrap();
    peer.request().await;
    let since = Instant::now();
    assert!(within(stream.next()).await.unwrap().is_err());
    sees_hang_up(&mut peer, since).await;
    drop(stream);
}

/// D7: a chunk that the guard refuses is not delivered, and the connection closes before the failure is told.
#[tokio::test]
async fn a_refused_chunk_is_not_delivered_and_the_server_sees_the_hang_up() {
    let events = [text_event("ok"), text_event("bad"), text_event("later")].concat();
    let mut peer = Peer::streaming(vec![Act::Send(events), Act::AwaitHangUp]).await;
    let stream = peer.provider().stream(&request()).await.unwrap();
    peer.request().await;
    let mut delivered = Vec::new();
    let bad = LlmChunk::Text { choice: 0, text: "bad".to_owned() };
    let guard = |chunk: &LlmChunk| if *chunk == bad { Err("refused") } else { Ok(()) };
    let deliver = |chunk: &LlmChunk| {
        delivered.push(chunk.clone());
        Ok(())
    };
    let since = Instant::now();
    let failure =
        within(collect_stream("peer", stream, guard, deliver, pending::<Infallible>())).await.unwrap_err();
    assert!(matches!(failure.error, Stopped::Refused("refused")));
    assert_eq!((delivered.len(), failure.delivered_bytes), (1, 2));
    sees_hang_up(&mut peer, since).await;
}

/// D8: a cancel ends the reading with the caller's own reason, and the connection closes.
#[tokio::test]
async fn a_cancel_returns_its_own_reason_and_the_server_sees_the_hang_up() {
    let mut peer = Peer::streaming(vec![Act::Send(text_event("a")), Act::AwaitHangUp]).await;
    let stream = peer.provider().stream(&request()).await.unwrap();
    peer.request().await;
    let (abort, aborted) = oneshot::channel();
    let reason = Arc::new("the user left");
    let mut abort = Some((abort, Arc::clone(&reason)));
    let deliver = |_: &LlmChunk| {
        let (abort, reason) = abort.take().unwrap();
        abort.send(reason).map_err(|_| "nobody listens")
    };
    let cancel = async { aborted.await.unwrap() };
    let since = Instant::now();
    let failure = within(collect_stream("peer", stream, |_| Ok(()), deliver, cancel)).await.unwrap_err();
    let Stopped::Cancelled(given) = failure.error else { panic!("expected the cancel, got {failure:?}") };
    assert!(Arc::ptr_eq(&given, &reason));
    assert_eq!(failure.delivered_bytes, 1);
    sees_hang_up(&mut peer, since).await;
}

/// What the server has sent when the call is dropped.
enum Stage {
    /// Nothing, with the request still on its way.
    Uploading,
    Sent(&'static str),
}

/// D15: in every state of a call, from the connection on, dropping it closes the connection.
#[tokio::test]
async fn a_call_dropped_in_any_state_is_seen_by_the_server() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"choices\":";
    for (state, base_url, through, stage) in [
        ("TLS handshake", "https://ADDRESS", None, Stage::Sent("")),
        ("tunnel of a proxy", "https://provider.test", Some("http://ADDRESS"), Stage::Sent("")),
        ("head of a tunnel", "https://provider.test", Some("http://ADDRESS"), Stage::Sent("HTTP/1.1 200 ")),
        (
            "TLS in a tunnel",
            "https://provider.test",
            Some("http://ADDRESS"),
            Stage::Sent("HTTP/1.1 200 OK\r\n\r\n"),
        ),
        ("request on its way", "http://ADDRESS", None, Stage::Uploading),
        ("no head yet", "http://ADDRESS", None, Stage::Sent("")),
        ("informational head", "http://ADDRESS", None, Stage::Sent("HTTP/1.1 100 Continue\r\n\r\n")),
        ("half a head", "http://ADDRESS", None, Stage::Sent("HTTP/1.1 200 OK\r\nx: ")),
        ("no body yet", "http://ADDRESS", None, Stage::Sent("HTTP/1.1 200 OK\r\n\r\n")),
        ("half a body", "http://ADDRESS", None, Stage::Sent(begun)),
        ("body of an error", "http://ADDRESS", None, Stage::Sent("HTTP/1.1 500 Oops\r\n\r\nwell")),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = |url: &str| url.replace("ADDRESS", &listener.local_addr().unwrap().to_string());
        let mut config = HttpConfig::new(here(base_url)).with_roots(Roots::Bundled);
        if let Some(proxy) = through {
            config = config.with_proxy(here(proxy));
        }
        let provider = OpenAiCompatible::new("dropped", config).unwrap();
        let words = if matches!(stage, Stage::Uploading) { 8 << 20 } else { 1 };
        let asked = ChatRequest::new("default", vec![Message::user("a".repeat(words))]);
        let call = tokio::spawn(async move { provider.complete(&asked).await.map(drop) });
        let (mut socket, _) = within(listener.accept()).await.unwrap();
        let mut packet = vec![0; 1 << 16];
        assert!(within(socket.read(&mut packet)).await.unwrap() > 0, "{state}");
        if let Stage::Sent(bytes) = stage {
            socket.write_all(bytes.as_bytes()).await.unwrap();
        }
        assert!(!call.is_finished(), "{state}");
        let since = Instant::now();
        call.abort();
        assert!(within(call).await.unwrap_err().is_cancelled(), "{state}");
        while within(socket.read(&mut packet)).await.is_ok_and(|read| read > 0) {}
        assert!(since.elapsed() < Duration::from_secs(1), "{state}: after {:?}", since.elapsed());
    }
}

#[tokio::test]
async fn a_stream_dropped_before_its_first_byte_closes_the_connection() {
    let mut peer = Peer::streaming(vec![Act::AwaitHangUp]).await;
    let stream = within(peer.provider().stream(&request())).await.unwrap();
    peer.request().await;
    let since = Instant::now();
    drop(stream);
    sees_hang_up(&mut peer, since).await;
}
