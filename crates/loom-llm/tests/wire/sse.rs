//! The event-stream decoder: any split, every line end, every bound.

use loom_llm::sse::{SSE_BODY_MAX_BYTES, SSE_EVENT_MAX_BYTES, SSE_LINE_MAX_BYTES, SseDecoder, SseError};
use proptest::prelude::*;

use crate::fixtures::recordings;

type Event = (String, String, String);

/// Feeds the packets and gathers the events up to the end or the first error.
fn decode<'a>(packets: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Option<SseError>) {
    let (mut decoder, mut events) = (SseDecoder::new(), Vec::new());
    let mut drain = |decoder: &mut SseDecoder| loop {
        match decoder.next_event() {
            Ok(Some(event)) => {
                events.push((event.name.to_owned(), event.data.to_owned(), event.id.to_owned()))
            }
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    };
    for packet in packets {
        decoder.push(packet);
        if let Some(error) = drain(&mut decoder) {
            assert_eq!(decoder.next_event(), Err(error), "a failed decoder stays failed");
            return (events, Some(error));
        }
    }
    decoder.finish();
    let error = drain(&mut decoder);
    (events, error)
}

fn data(body: &[u8]) -> Vec<String> {
    let (events, error) = decode([body]);
    assert_eq!(error, None);
    events.into_iter().map(|(_, data, _)| data).collect()
}

#[test]
fn fields_follow_the_standard() {
    assert_eq!(
        data(b"data: a\ndata:b\ndata\ndata:  c\n\n"),
        ["a\nb\n\n c"],
        "lines join, one space is dropped"
    );
    assert_eq!(data(b": keep-alive\n\n:\ndata: a\n\n\n\n"), ["a"], "comments and blank lines are no events");
    assert_eq!(data(b"event: only\n\ndata: a\n\n"), ["a"]);
    assert_eq!(data(b"data:\n\n"), [""], "an empty data line is an event with empty data");
    assert_eq!(
        data(b"\xEF\xBB\xBFdata: a\n\ndata: \xEF\xBB\xBFb\n\n"),
        ["a", "\u{feff}b"],
        "one leading mark only"
    );
    assert_eq!(data(b"DATA: a\nother: b\ndata: c\n\n"), ["c"], "unknown fields are ignored");
    let (events, _) = decode([&b"id: 7\nevent: ping\ndata: a\n\nid: x\0y\ndata: b\n\n"[..]]);
    let expected = [("ping", "a", "7"), ("", "b", "7")];
    assert_eq!(events, expected.map(|(name, data, id)| (name.to_owned(), data.to_owned(), id.to_owned())));
}

#[test]
fn a_reconnection_time_is_told_and_nonsense_leaves_it() {
    let mut decoder = SseDecoder::new();
    decoder.push(b"retry: 1500\nretry: soon\nretry:\nretry: 99999999999999999999\n");
    assert_eq!(decoder.next_event(), Ok(None));
    assert_eq!(decoder.retry_ms(), Some(1500));
}

#[test]
fn an_event_without_its_blank_line_is_delivered_at_the_end_and_says_so() {
    for body in ["data: a", "data: a\n", "data: a\r"] {
        let mut decoder = SseDecoder::new();
        decoder.push(body.as_bytes());
        assert_eq!(decoder.next_event(), Ok(None));
        decoder.finish();
        let event = decoder.next_event().unwrap().unwrap();
        assert_eq!((event.data, event.complete), ("a", false));
        assert_eq!(decoder.next_event(), Ok(None));
        decoder.push(b"data: late\n\n");
        assert_eq!(decoder.next_event(), Ok(None), "the body has ended");
    }
}

#[test]
fn a_lone_carriage_return_ends_its_line_at_once() {
    let mut decoder = SseDecoder::new();
    decoder.push(b"data: a\r\r");
    assert_eq!(decoder.next_event().unwrap().unwrap().data, "a", "without waiting for the next byte");
    assert_eq!(data(b"data: a\r\rdata: b\r\n\r\ndata: c\n\r\n"), ["a", "b", "c"]);
}

#[test]
fn bytes_that_are_not_utf8_are_an_error_after_the_events_before_them() {
    for bad in [&b"data: \xFF\n\n"[..], b": \xC3\n\n", b"data: caf\xC3("] {
        let body = [b"data: a\n\n", bad].concat();
        for split in 0..body.len() {
            let (events, error) = decode([&body[..split], &body[split..]]);
            assert_eq!((events.len(), error), (1, Some(SseError::InvalidUtf8)));
        }
    }
}

/// A body that was cut inside a character is one that was cut: it ends before the character.
#[test]
fn a_body_that_ends_inside_a_character_ends_before_it() {
    for (cut, said) in [
        (&b"data: caf\xC3"[..], &["caf"][..]),
        (b"data: x\xF0\x9F\x98", &["x"]),
        (b"data: a\ndata: \xE2\x82", &["a\n"]),
        (b"data: a\n\xC3", &["a"]),
        (b"data: a\n\n\xC3", &["a"]),
        (b"\xEF\xBB", &[]),
    ] {
        for split in 0..cut.len() {
            let (events, error) = decode([&cut[..split], &cut[split..]]);
            let data: Vec<_> = events.iter().map(|(_, data, _)| data.as_str()).collect();
            assert_eq!((data.as_slice(), error), (said, None), "{cut:?}");
        }
    }
}

/// What stands before the breach comes out, then the error; `fits` is the same one byte shorter.
fn check_bound(fits: &[u8], breaks: &[u8], expected: SseError) {
    for size in [breaks.len(), 4096, 65_537] {
        let (events, error) =
            decode([b"data: before\n\n"].into_iter().map(|b| &b[..]).chain(fits.chunks(size)));
        assert_eq!((error, events.len()), (None, 2), "{expected:?} at {size}");
        let (events, error) =
            decode([b"data: before\n\n"].into_iter().map(|b| &b[..]).chain(breaks.chunks(size)));
        assert_eq!((error, events.len()), (Some(expected), 1), "{expected:?} at {size}");
    }
}

#[test]
fn a_line_has_a_bound() {
    let line = |bytes: usize| format!("data: {}\n\n", "x".repeat(bytes - "data: ".len())).into_bytes();
    check_bound(&line(SSE_LINE_MAX_BYTES), &line(SSE_LINE_MAX_BYTES + 1), SseError::LineTooLong);
    let endless = line(SSE_LINE_MAX_BYTES + 1);
    let (_, error) = decode([endless.strip_suffix(b"\n\n").unwrap()]);
    assert_eq!(error, Some(SseError::LineTooLong), "also where its end never comes");
}

#[test]
fn an_event_has_a_bound() {
    let lines = |last: usize| {
        let full = format!("data: {}\n", "x".repeat((1 << 19) - 1)).repeat(7);
        format!("{full}data: {}\n\n", "x".repeat(last)).into_bytes()
    };
    check_bound(&lines(1 << 19), &lines((1 << 19) + 1), SseError::EventTooLarge);
    const { assert!(SSE_EVENT_MAX_BYTES == 8 * (1 << 19)) };
}

#[test]
fn a_body_has_a_bound_wherever_its_packets_end() {
    let mut body = b"data: a\n\n".to_vec();
    let comment = [vec![b':'; 99_999], b"\n".to_vec()].concat();
    body.extend(comment.into_iter().cycle().take(SSE_BODY_MAX_BYTES - 18));
    body.push(b'\n');
    body.extend_from_slice(b"data: b\n");
    assert_eq!(decode(body.chunks(1 << 20)).1, None);
    body.push(b'\n');
    for size in [1 << 20, 1_000_003, body.len()] {
        let (events, error) = decode(body.chunks(size));
        assert_eq!((events.len(), error), (1, Some(SseError::BodyTooLong)), "packets of {size}");
    }
}

#[test]
fn single_bytes_cost_no_more_than_linear_time() {
    // A decoder that scanned its buffer anew for each byte would need 2^39 steps here.
    let body = format!("data: {}\n\n", "x".repeat(SSE_LINE_MAX_BYTES - 6)).into_bytes();
    let (events, error) = decode(body.chunks(1));
    assert_eq!((events.len(), error), (1, None));
    // Nor does it move its whole buffer for each event that is taken while many wait.
    let mut decoder = SseDecoder::new();
    decoder.push(&b"data: a\n\n".repeat(200_000));
    for _ in 0..200_000 {
        assert!(decoder.next_event().unwrap().is_some());
        decoder.push(b":");
    }
}

#[test]
fn recorded_streams_decode_alike_at_every_byte_split() {
    for recording in recordings() {
        for line_end in ["\n", "\r\n", "\r"] {
            let body = recording.encoded(line_end);
            assert_eq!(data(&body), recording.lines, "{}", recording.name);
            for size in [1, 7] {
                assert_eq!(decode(body.chunks(size)), decode([&body[..]]), "{}", recording.name);
            }
        }
        // Every split in two, on as much of the stream as keeps a quadratic test short.
        let body = recording.encoded("\r\n");
        let start = &body[..body.len().min(2_500)];
        let whole = decode([start]);
        for split in 0..=start.len() {
            assert_eq!(decode([&start[..split], &start[split..]]), whole, "{} at {split}", recording.name);
        }
    }
}

#[derive(Debug, Clone)]
struct Written {
    name: String,
    lines: Vec<String>,
    line_end: &'static str,
    comment: Option<String>,
    space: bool,
}

fn written() -> impl Strategy<Value = Written> {
    let text = || "[^\r\n\0]{0,12}";
    let line_end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    (text(), prop::collection::vec(text(), 1..4), line_end, prop::option::of(text()), any::<bool>())
        .prop_map(|(name, lines, line_end, comment, space)| Written { name, lines, line_end, comment, space })
}

impl Written {
    fn write(&self, body: &mut String) {
        let Self { name, lines, line_end, comment, space } = self;
        let mut field = |name: &str, value: &str| {
            let space = if *space || value.starts_with(' ') { " " } else { "" };
            *body += &format!("{name}:{space}{value}{line_end}");
        };
        if let Some(comment) = comment {
            field("", comment);
        }
        field("event", name);
        lines.iter().for_each(|line| field("data", line));
        *body += line_end;
    }
}

proptest! {
    #[test]
    fn any_split_of_any_encoding_gives_the_events_that_were_written(
        events in prop::collection::vec(written(), 0..6),
        mark in any::<bool>(),
        mut splits in prop::collection::vec(0_usize..400, 0..12),
    ) {
        let mut body = if mark { "\u{feff}".to_owned() } else { String::new() };
        // A lone CR and a following LF would read as one line end, so a stream keeps to one kind.
        let line_end = events.first().map_or("\n", |event| event.line_end);
        let events: Vec<Written> = events.into_iter().map(|event| Written { line_end, ..event }).collect();
        events.iter().for_each(|event| event.write(&mut body));
        let expected: Vec<Event> =
            events.iter().map(|event| (event.name.clone(), event.lines.join("\n"), String::new())).collect();
        let body = body.as_bytes();
        splits.retain(|split| *split < body.len());
        splits.extend([0, body.len()]);
        splits.sort_unstable();
        let packets: Vec<&[u8]> = splits.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(packets), (expected.clone(), None));
        prop_assert_eq!(decode(body.chunks(1)), (expected, None));
    }
}
