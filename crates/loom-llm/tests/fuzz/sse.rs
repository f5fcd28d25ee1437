//! The event-stream decoder against a second reading of its grammar.

use std::sync::LazyLock;

use loom_llm::sse::{SSE_BUFFERED_MAX_BYTES, SSE_LINE_MAX_BYTES, SseDecoder, SseError};

use crate::dice::Dice;
use crate::packets::{Packet, heard, shrink_time, split, whole};
use crate::recordings::streams;
use crate::sse_reference::{self, Event, Said};

const ITERATIONS: usize = 2_000;
const FRAGMENTS_MAX: usize = 60;
const LINE_ENDS: [&[u8]; 3] = [b"\n", b"\r\n", b"\r"];
const FIELDS: [&str; 9] = ["data", "event", "id", "retry", "", "dat", "DATA", "data ", "other"];
const TEXTS: [&str; 12] = [
    "x",
    " ",
    ":",
    ": ",
    "\u{feff}",
    "\0",
    "é",
    "漢字",
    "🙂",
    "1500",
    "99999999999999999999",
    "{\"a\":[1,\"b\"]}",
];
const NOT_TEXTS: [&[u8]; 7] =
    [b"\xFF", b"\xC3", b"\xE2\x82", b"\xF0\x9F\x99", b"\x80", b"\xC0\x80", b"\xED\xA0\x80"];

static RECORDED: LazyLock<Vec<String>> = LazyLock::new(|| {
    ["openai-compatible", "anthropic", "google"].into_iter().flat_map(streams).flatten().collect()
});

/// Whatever is pushed, and in whatever packets, the decoder says what the grammar says, in bounded memory.
#[test]
fn any_bytes_in_any_packets_are_read_as_the_grammar_reads_them() {
    bolero::check!().with_iterations(ITERATIONS).with_shrink_time(shrink_time()).for_each(
        |input: &[u8]| {
            let mut dice = Dice::new(input);
            let body = body(&mut dice);
            let expected = sse_reference::read(&body);
            assert_eq!(decode(&whole(&body)), expected, "in one piece: {}", shown(&body));
            let mut in_packets = decode(&split(&body, &mut dice));
            in_packets.error = heard(in_packets.error);
            assert_eq!(in_packets, expected, "in packets as in one piece: {}", shown(&body));
        },
    );
}

/// As much of the body as a person reads.
fn shown(body: &[u8]) -> impl std::fmt::Display {
    body[..body.len().min(4096)].escape_ascii()
}

fn decode(packets: &[Packet]) -> Said {
    let (mut decoder, mut said, mut pushed) = (SseDecoder::new(), Said::default(), 0);
    for packet in packets {
        decoder.push(&packet.bytes);
        pushed += packet.bytes.len();
        // What is consumed and not yet dropped may stand in the event in progress too.
        assert!(decoder.buffered_bytes() <= 2 * pushed, "nothing is held that was not pushed");
        if take(&mut decoder, packet.take, pushed, &mut said) {
            return said;
        }
    }
    decoder.finish();
    if !take(&mut decoder, usize::MAX, pushed, &mut said) {
        decoder.push(b"data: late\n\n");
        assert_eq!(decoder.next_event(), Ok(None), "nothing follows the end");
    }
    said
}

/// Takes so many events, or all there are; whether an error ended the stream.
fn take(decoder: &mut SseDecoder, events_max: usize, pushed: usize, said: &mut Said) -> bool {
    for _ in 0..events_max {
        let event = decoder.next_event();
        match event {
            Ok(Some(event)) => said.events.push(Event {
                name: event.name.to_owned(),
                data: event.data.to_owned(),
                id: event.id.to_owned(),
                complete: event.complete,
            }),
            Ok(None) => {
                let held = decoder.buffered_bytes();
                assert!(held <= pushed.min(SSE_BUFFERED_MAX_BYTES), "{held} bytes held of {pushed}");
                break;
            }
            Err(error) => {
                check_failed(decoder, error);
                said.error = Some(error);
                break;
            }
        }
    }
    said.retry_ms = decoder.retry_ms();
    said.error.is_some()
}

fn check_failed(decoder: &mut SseDecoder, error: SseError) {
    decoder.push(b"data: late\n\n");
    decoder.finish();
    assert_eq!(decoder.next_event(), Err(error), "a failed decoder stays failed");
}

fn body(dice: &mut Dice<'_>) -> Vec<u8> {
    if dice.once_in(8) {
        return dice.raw(usize::MAX / 2).to_vec();
    }
    if dice.once_in(256) {
        return large(dice);
    }
    let mut body = if dice.once_in(8) { b"\xEF\xBB\xBF".to_vec() } else { Vec::new() };
    for _ in 0..=dice.below(FRAGMENTS_MAX) {
        fragment(dice, &mut body);
    }
    body
}

/// Lines about as long as one may be, and about as many as an event may have.
fn large(dice: &mut Dice<'_>) -> Vec<u8> {
    let mut body = b"data: before\n\n".to_vec();
    for _ in 0..=dice.below(6) {
        let field = dice.one_of(&["data:", "data:", "data:", "id:", "event:", ":"]);
        let about = SSE_LINE_MAX_BYTES + 2 - field.len();
        let bytes = about - dice.one_of(&[2, 2, 3, 1, 0, 4_000]);
        body.extend_from_slice(field.as_bytes());
        body.resize(body.len() + bytes, b'x');
        if dice.once_in(8) {
            body.extend_from_slice(dice.one_of(&NOT_TEXTS));
        }
        let ends = dice.below(5).div_ceil(3);
        (0..ends).for_each(|_| body.extend_from_slice(LINE_ENDS[0]));
    }
    body.extend_from_slice(dice.one_of(&[&b"\n\n"[..], b"", b"\r\r", b"\n"]));
    body
}

fn fragment(dice: &mut Dice<'_>, body: &mut Vec<u8>) {
    match dice.below(16) {
        0..=3 => body.extend_from_slice(dice.one_of(&LINE_ENDS)),
        4..=6 => {
            body.extend_from_slice(dice.one_of(&FIELDS).as_bytes());
            body.extend_from_slice(dice.one_of(&[": ", ":", ""]).as_bytes());
        }
        7..=9 => body.extend_from_slice(dice.one_of(&TEXTS).as_bytes()),
        10..=12 => {
            let end = dice.one_of(&LINE_ENDS);
            let text = dice.one_of(&TEXTS);
            body.extend([b"data: ", text.as_bytes(), end, end].concat());
        }
        13 if !RECORDED.is_empty() => {
            let event = RECORDED[dice.below(RECORDED.len())].as_bytes();
            let cut = if dice.once_in(4) { dice.below(event.len()) } else { event.len() };
            body.extend([b"data: ", &event[..cut], b"\n\n"].concat());
        }
        14 if dice.once_in(3) => body.extend_from_slice(dice.one_of(&NOT_TEXTS)),
        15 if dice.once_in(4) => {
            let bytes = 1 + dice.below(4);
            body.extend_from_slice(dice.raw(bytes));
        }
        _ => body.extend_from_slice(b"data: a"),
    }
}
