//! How long a transport waits, and for what.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use loom_llm::error::Awaited;
use loom_llm::http::{HttpConfig, Timeouts};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::{Provider, ProviderError, ProviderFault, Remedy};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;

use crate::peer::{Act, Peer, STREAM_HEAD, Seen, event, request, text_event, within};

const SHORT: Duration = Duration::from_millis(40);

fn awaited(error: &ProviderError) -> Awaited {
    assert_eq!(error.remedy(), Remedy::Retry);
    match error.fault() {
        ProviderFault::Silent { awaited, limit: SHORT, .. } => *awaited,
        other => panic!("expected silence, got {other:?}"),
    }
}

#[test]
fn the_default_limits_are_ten_a_hundred_and_twenty_and_sixty_seconds_and_four_hours() {
    let Timeouts { connect, first_byte, idle, total, .. } = Timeouts::default();
    assert_eq!([connect, first_byte, idle].map(|limit| limit.as_secs()), [10, 120, 60]);
    assert_eq!(total, Some(Duration::from_secs(4 * 60 * 60)));
}

#[tokio::test]
async fn a_connection_that_nobody_takes_up_is_given_up() {
    // A listener whose queue is full leaves further connections hanging.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let queued: Vec<_> = (0..4).map(|_| tokio::spawn(TcpStream::connect(address))).collect();
    let mut taken = 0;
    for connection in queued {
        taken += usize::from(tokio::time::timeout(SHORT, connection).await.is_ok());
    }
    assert!(taken < 4, "the queue took them all");
    let mut timeouts = Timeouts::default();
    timeouts.connect = SHORT;
    let config = HttpConfig::new(format!("http://{address}")).with_timeouts(timeouts);
    let provider = OpenAiCompatible::new("full", config).unwrap();
    let error = within(provider.stream(&request())).await.map(drop).unwrap_err();
    assert_eq!(awaited(&error), Awaited::Connection, "{error}");
}

#[tokio::test]
async fn a_server_that_never_begins_is_given_up_and_sees_the_hang_up() {
    let mut timeouts = Timeouts::default();
    timeouts.first_byte = SHORT;
    let mut peer = Peer::start(vec![vec![Act::AwaitHangUp]]).await;
    let error = within(peer.provider_with(timeouts).stream(&request())).await.map(drop).unwrap_err();
    assert_eq!(awaited(&error), Awaited::FirstByte);
    peer.request().await;
    assert_eq!(peer.saw().await, Seen::HangUp);
}

#[tokio::test]
async fn a_head_without_a_body_is_no_first_byte_and_a_pause_later_is_idleness() {
    for (body, expected) in [(Vec::new(), Awaited::FirstByte), (text_event("a"), Awaited::NextByte)] {
        let mut timeouts = Timeouts::default();
        // The other limit is no help to a server that keeps this one waiting.
        match expected {
            Awaited::FirstByte => timeouts.first_byte = SHORT,
            _ => timeouts.idle = SHORT,
        }
        let head = STREAM_HEAD.as_bytes().to_vec();
        let mut peer = Peer::start(vec![vec![Act::Send([head, body].concat()), Act::AwaitHangUp]]).await;
        let mut stream = peer.provider_with(timeouts).stream(&request()).await.unwrap();
        let error = loop {
            if let Err(error) = within(stream.next()).await.unwrap() {
                break error;
            }
        };
        assert_eq!(awaited(&error), expected);
        peer.request().await;
        assert_eq!(peer.saw().await, Seen::HangUp);
    }
}

#[tokio::test]
async fn the_time_that_a_reader_takes_is_not_the_providers_silence() {
    let gate = Arc::new(Notify::new());
    let script = vec![
        Act::Send(text_event("a")),
        Act::Gate(Arc::clone(&gate)),
        Act::Send([text_event("b"), event("[DONE]")].concat()),
    ];
    let peer = Peer::streaming(script).await;
    let mut stream = peer.provider().stream(&request()).await.unwrap();
    assert!(within(stream.next()).await.unwrap().is_ok());
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3_600)).await;
    tokio::time::resume();
    gate.notify_one();
    assert!(within(stream.next()).await.unwrap().is_ok(), "an hour of reading is no silence");
    assert!(within(stream.next()).await.is_none());
}

#[tokio::test]
async fn the_time_for_the_whole_reply_counts_from_the_request_and_bounds_every_wait() {
    let mut timeouts = Timeouts::default();
    timeouts.total = Some(SHORT);
    let text = [STREAM_HEAD.as_bytes(), &text_event("a")].concat();
    let refusal = b"HTTP/1.1 503 Busy\r\n\r\n".to_vec();
    for (script, whole) in [(Vec::new(), true), (STREAM_HEAD.into(), true), (text, true), (refusal, false)] {
        let scripts = [(); 2].map(|()| vec![Act::Send(script.clone()), Act::AwaitHangUp]);
        let mut peer = Peer::start(scripts.into()).await;
        let provider = peer.provider_with(timeouts);
        let streamed = async {
            let asked = request();
            let mut stream = provider.stream(&asked).await?;
            while let Some(chunk) = stream.next().await {
                chunk?;
            }
            Ok(())
        };
        let asked = request();
        let errors =
            [within(streamed).await.unwrap_err(), within(provider.complete(&asked)).await.unwrap_err()];
        for error in errors {
            if whole {
                assert_eq!(awaited(&error), Awaited::WholeReply);
                assert!(error.to_string().contains("waited 0.04 s for the whole reply from"), "{error}");
            } else {
                assert!(matches!(error.fault(), ProviderFault::Status { status: 503, .. }), "{error}");
            }
            peer.request().await;
            assert_eq!(peer.saw().await, Seen::HangUp);
        }
    }
}

#[tokio::test]
async fn what_has_come_in_time_is_read_after_it_and_what_has_not_is_given_up() {
    let gate = Arc::new(Notify::new());
    let script = vec![Act::Send([text_event("a"), text_event("b")].concat()), Act::Gate(Arc::clone(&gate))];
    let peer = Peer::streaming(script).await;
    let mut timeouts = Timeouts::default();
    timeouts.total = Some(Duration::from_secs(600));
    let mut stream = peer.provider_with(timeouts).stream(&request()).await.unwrap();
    assert!(within(stream.next()).await.unwrap().is_ok());
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(601)).await;
    tokio::time::resume();
    assert!(within(stream.next()).await.unwrap().is_ok());
    let error = within(stream.next()).await.unwrap().unwrap_err();
    let ProviderFault::Silent { awaited, limit, .. } = error.fault() else { panic!("{error}") };
    assert_eq!((*awaited, limit.as_secs()), (Awaited::WholeReply, 600));
    gate.notify_one();
}
