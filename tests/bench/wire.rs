//! The event-stream decoder on a stream as chat-completions servers send it, beside another decoder and beside the
//! least that any decoder does, which is to find the lines. All three are timed in turn, so that a busy neighbour
//! slows all of them.

use std::cell::LazyCell;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::hint::black_box;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Instant;

use eventsource_stream::Eventsource as _;
use futures::stream::{self, Stream as _};
use loom_llm::openai;
use loom_llm::sse::SseDecoder;
use serde_json::{Value, json};

use crate::measure::{Bench, ready, round};

/// Events in a body; some 7 MiB, which is within the bound on a body and beyond a core's cache.
const EVENTS: usize = 40_000;
/// Bytes of a packet where the network is fast, and of one that fits an Ethernet frame.
const PACKETS: [(&str, usize); 2] = [("wire.sse.64k", 64 << 10), ("wire.sse.1400", 1400)];
/// Bytes of a packet of the chat bench.
const CHAT_PACKET: usize = 1400;
/// Events within which a decoder grows to its size, and as many again in which it shall not.
const WARM: usize = EVENTS / 2;
/// The best of this many rounds counts.
const ROUNDS: usize = 15;
const WORDS: [&str; 8] = [" the", " river", " Rhine", " flows", ",", " über", " \\\"north\\\"", " 1,233 km"];

/// The body, made where it is first used.
type Shared = Rc<LazyCell<Body>>;
/// Decodes a body that comes in packets of so many bytes and counts its events.
type Decode = fn(&[u8], usize) -> usize;

pub(crate) fn all() -> Vec<Bench> {
    let body: Shared = Rc::new(LazyCell::new(|| Body::of(EVENTS)));
    let sse = PACKETS.map(|(name, packet)| {
        let shared = Rc::clone(&body);
        decoding(name, loom, packet, &body).with(move || beside_others(&shared, packet))
    });
    // From bytes to pieces: the events, their JSON, and what is told of each.
    let counted = Rc::clone(&body);
    let chat = decoding("wire.chat", chat, CHAT_PACKET, &body)
        .with(move || json!({"allocs": steady_allocs(chat, &counted, CHAT_PACKET)}));
    sse.into_iter().chain([chat]).collect()
}

/// One event an iteration.
fn decoding(name: &'static str, decode: Decode, packet: usize, body: &Shared) -> Bench {
    let body = Rc::clone(body);
    Bench::new(name, move |count| {
        let mut left = usize::try_from(count).expect("a count of events fits");
        while left > 0 {
            let events = left.min(EVENTS);
            assert_eq!(decode(body.first(events), packet), events, "every event is decoded");
            left -= events;
        }
    })
}

/// Allocations an event, once the decoder has grown to its size.
fn steady_allocs(decode: Decode, body: &Body, packet: usize) -> f64 {
    let counted = |events| {
        let decoded = || assert_eq!(decode(body.first(events), packet), events, "every event is decoded");
        allocation_counter::measure(decoded).count_total
    };
    (counted(2 * WARM) - counted(WARM)) as f64 / WARM as f64
}

/// The figures of all three on the whole body.
fn beside_others(body: &Body, packet: usize) -> Value {
    let contenders: [Decode; 3] = [loom, eventsource, lines];
    let mut seconds = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        for (decode, best) in contenders.iter().zip(&mut seconds) {
            let start = Instant::now();
            black_box(decode(black_box(&body.bytes), packet));
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let [own, other, least] = seconds.map(|best| body.bytes.len() as f64 / best / 1e6);
    json!({
        "allocs": steady_allocs(loom, body, packet),
        "mb_per_s": own.round(),
        "eventsource_mb_per_s": other.round(),
        "eventsource_allocs": round(steady_allocs(eventsource, body, packet)),
        "lines_mb_per_s": least.round(),
        "ratio": round(own / other),
        "of_lines": round(own / least),
    })
}

/// A stream, and where each of its events ends.
struct Body {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Body {
    /// Events of some 180 bytes, their words in an order that a generator of numbers gives.
    fn of(events: usize) -> Self {
        let (mut text, mut ends, mut number) = (String::new(), Vec::with_capacity(events), 1_u32);
        for event in 0..events {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let word = WORDS.get(number as usize >> 29).copied().unwrap_or_default();
            write!(
                text,
                "data: {{\"id\":\"chatcmpl-{:08x}\",\"object\":\"chat.completion.chunk\",\"created\":{},\
                 \"model\":\"bench-1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}},\
                 \"finish_reason\":null}}]}}\n\n",
                0x0100_0193_u32,
                1_760_000_000 + event / 50,
            )
            .expect("writing to a string cannot fail");
            ends.push(text.len());
        }
        Self { bytes: text.into_bytes(), ends }
    }

    fn first(&self, events: usize) -> &[u8] {
        let end = events.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        self.bytes.get(..end).unwrap_or_default()
    }
}

fn loom(body: &[u8], packet: usize) -> usize {
    let (mut decoder, mut events) = (SseDecoder::new(), 0);
    for packet in body.chunks(packet) {
        decoder.push(packet);
        while let Some(event) = decoder.next_event().expect("the stream is well-formed") {
            black_box(event.data);
            events += 1;
        }
    }
    events
}

fn chat(body: &[u8], packet: usize) -> usize {
    let (mut decoder, mut chunks) = (openai::decoder("bench"), 0);
    for packet in body.chunks(packet) {
        decoder.push(packet);
        while let Some(chunk) = decoder.next_chunk().expect("the stream is of the dialect") {
            black_box(&chunk);
            chunks += 1;
        }
    }
    chunks
}

fn eventsource(body: &[u8], packet: usize) -> usize {
    let cx = &mut Context::from_waker(Waker::noop());
    let decoder = stream::iter(body.chunks(packet).map(Ok::<_, Infallible>)).eventsource();
    let mut decoder = std::pin::pin!(decoder);
    let mut events = 0;
    while let Some(event) = ready!(cx, poll_fn(|cx| decoder.as_mut().poll_next(cx))) {
        black_box(event.expect("the stream is well-formed").data);
        events += 1;
    }
    events
}

/// No decoder: finds the line ends within each packet and looks at nothing else.
fn lines(body: &[u8], packet: usize) -> usize {
    body.chunks(packet).map(|packet| memchr::memchr_iter(b'\n', black_box(packet)).count()).sum::<usize>() / 2
}
