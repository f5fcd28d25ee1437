//! How much memory a transport takes while a peer floods it: the peak of what the reading thread allocates, counted
//! by the allocator, against the bounds that the crate states.
//!
//! The peer runs in a thread of its own, whose allocations do not count; the program here reads and drops.

#![cfg(test)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use allocation_counter::measure;
use futures::StreamExt;
use loom_llm::decoder::JSON_VALUES_MAX;
use loom_llm::error::MalformedReply;
use loom_llm::http::{ERROR_BODY_MAX_BYTES, HttpConfig};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::sse::{SSE_BODY_MAX_BYTES, SSE_EVENT_MAX_BYTES, SSE_LINE_MAX_BYTES};
use loom_llm::{ChatRequest, Message, Provider, ProviderError, ProviderFault};

/// What the HTTP client holds of a connection, head and packets, in bytes: its read buffer grows to 408 KiB, and
/// a packet may be one while the next is read.
const CLIENT_MAX_BYTES: usize = 1 << 20;

/// Text that grows by doubling is at most three times there, while it is moved.
const GROWTH: usize = 3;

/// What reading JSON takes for a byte of it, in bytes, where it is nothing but the smallest objects.
const VALUES: usize = 128;

const STREAM: &str = "HTTP/1.1 200 OK\r\n\r\n";

/// A peer that answers one connection with the start, then the block so many times, then the end.
fn answering(start: String, block: Vec<u8>, times: usize, end: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut packet = [0; 4096];
        assert!(socket.read(&mut packet).unwrap() > 0);
        socket.write_all(start.as_bytes()).unwrap();
        let mut blocks = std::iter::repeat_n(&block, times);
        if blocks.all(|block| socket.write_all(block).is_ok()) {
            let _ = socket.write_all(end.as_bytes());
        }
    });
    address
}

/// The error that the reply ends in, and the peak of bytes until then.
fn peak_of(address: SocketAddr) -> (ProviderError, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut outcome = None;
    let counted = measure(|| {
        let provider = OpenAiCompatible::new("flood", HttpConfig::new(format!("http://{address}"))).unwrap();
        outcome = Some(runtime.block_on(async {
            let request = ChatRequest::new("default", vec![Message::user("hi")]);
            let mut stream = provider.stream(&request).await?;
            while let Some(chunk) = stream.next().await {
                drop(chunk?);
            }
            Ok(())
        }));
    });
    (outcome.unwrap().unwrap_err(), usize::try_from(counted.bytes_max).unwrap())
}

/// The error that an endless flood ends in, once its peak has been held against the bound.
fn bounded(what: &str, start: String, block: Vec<u8>, bound: usize) -> ProviderError {
    let (error, peak) = peak_of(answering(start, block, usize::MAX, ""));
    println!("{what}: {peak} of {} bytes", bound + CLIENT_MAX_BYTES);
    assert!(peak <= bound + CLIENT_MAX_BYTES, "{what}: {peak} bytes, {error}");
    // What is far below its bound is not what the bound is about.
    assert!(peak * 4 >= bound, "{what}: {peak} bytes, {error}");
    error
}

#[test]
fn a_stream_without_end_takes_no_more_memory_than_its_bounds_state() {
    let block = 1 << 16;
    let pad = "x".repeat(block);
    let text =
        format!("data: {{\"choices\": [{{\"index\": 0, \"delta\": {{\"content\": \"{pad}\"}}}}]}}\n\n");
    for (what, start, more, bound) in [
        ("line", "data: ", pad.clone(), GROWTH * SSE_LINE_MAX_BYTES),
        ("event", "data: ", format!("{pad}\ndata: "), GROWTH * SSE_EVENT_MAX_BYTES),
        ("events", "", text, GROWTH * block),
        ("keep-alives", "", format!(": {}\n\n", &pad[..1_000]), 0),
        ("document", "{\"x\": \"", pad.clone(), GROWTH * SSE_BODY_MAX_BYTES),
    ] {
        let error = bounded(what, format!("{STREAM}{start}"), more.into_bytes(), bound);
        assert!(matches!(error.fault(), ProviderFault::Malformed { .. }), "{what}: {error}");
    }
}

#[test]
fn a_head_or_a_framing_without_end_takes_no_more_memory_than_the_client_has() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (what, start, bound) in [
        ("body of an error", "HTTP/1.1 500 Oops\r\n\r\n", GROWTH * ERROR_BODY_MAX_BYTES),
        ("head", "HTTP/1.1 200 OK\r\nx: ", 0),
        ("extension of a chunk", &format!("{chunked}1;x="), 0),
        ("trailer", &format!("{chunked}0\r\nx: "), 0),
        ("compressed body", "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n", 0),
    ] {
        bounded(what, start.to_owned(), vec![b'x'; 1 << 16], bound);
    }
}

/// A value of two bytes takes some hundred in memory: how many there are is bounded before they are read, wherever they
/// stand.
#[test]
fn json_of_nothing_but_small_values_is_refused_before_it_is_read() {
    let block = b"0,".repeat(1 << 15);
    for field in ["other", "usage", "error", "choices"] {
        for (what, start, end) in [
            ("document", format!("{STREAM}{{\"{field}\": ["), "0]}"),
            ("event", format!("{STREAM}data: {{\"{field}\": ["), "0]}\n\n"),
        ] {
            // 15 blocks are 983,040 bytes: within the bound of a line, and more values than are read.
            let (error, peak) = peak_of(answering(start, block.clone(), 15, end));
            let reason = ProviderFault::Malformed { reason: MalformedReply::TooManyValues };
            assert_eq!(*error.fault(), reason, "{what} with {field}");
            assert!(
                peak <= GROWTH * 15 * block.len() + CLIENT_MAX_BYTES,
                "{what} with {field}: {peak} bytes"
            );
        }
    }
}

/// What is read of values within their bound takes so much each at most.
#[test]
fn as_many_small_values_as_are_read_stay_within_a_stated_multiple() {
    let values = JSON_VALUES_MAX - 8;
    let start = format!("{STREAM}{{\"choices\": [], \"error\": [");
    let (error, peak) = peak_of(answering(start, b"0,".repeat(values), 1, "0]}"));
    println!("values: {peak} of {} bytes", 2 * VALUES * values + CLIENT_MAX_BYTES);
    assert!(matches!(error.fault(), ProviderFault::Reported { .. }), "{error}");
    assert!(peak <= 2 * VALUES * values + CLIENT_MAX_BYTES, "{peak} bytes");
}

/// The body of an error is read as JSON, of which a value takes more than its bytes.
#[test]
fn the_body_of_an_error_is_read_within_a_multiple_of_its_bound() {
    let start = format!("HTTP/1.1 500 Oops\r\ncontent-length: {ERROR_BODY_MAX_BYTES}\r\n\r\n[{{\"\":0}}");
    let values = b",{\"\":0}".repeat((ERROR_BODY_MAX_BYTES - 8) / 7);
    let rest = ERROR_BODY_MAX_BYTES - 7 - values.len();
    let end: &str = ["]", " ]", "  ]", "   ]", "    ]", "     ]", "      ]", "       ]"][rest - 1];
    let (error, peak) = peak_of(answering(start, values, 1, end));
    assert!(matches!(error.fault(), ProviderFault::Status { .. }), "{error}");
    assert!(error.message().is_none(), "the body was not read as JSON");
    println!("values: {peak} of {} bytes", VALUES * ERROR_BODY_MAX_BYTES + CLIENT_MAX_BYTES);
    assert!(peak <= VALUES * ERROR_BODY_MAX_BYTES + CLIENT_MAX_BYTES, "{peak} bytes");
}
