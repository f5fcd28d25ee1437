//! What holds for the decoder of every dialect, whatever it is sent.

use std::collections::BTreeSet;

use loom_llm::chunk::TOOL_CALLS_MAX;
use loom_llm::{LlmChunk, ReplyDecoder};
use serde_json::Value;

use crate::dice::Dice;
use crate::mutate::spoiled;
use crate::packets::{Packet, heard, shrink_time, split, whole};
use crate::recordings::streams;

/// Events of a stream that are fed: as many of its beginning and the last two.
const BEGINNING_MAX: usize = 12;
/// What a turn in the provider's own form has around its content.
const TURN_FRAME_BYTES: usize = 1024;
const HEADS: [&str; 5] = ["", "\u{feff}", "\n", "\r\n\r\n", " \t "];
/// Blank bytes before a body: few, and about as many as a decoder waits for when it finds out what the body is.
const BLANKS: [usize; 6] = [3, 100, 1023, 1024, 1025, 1100];

/// A dialect under test.
pub(crate) struct Dialect {
    pub(crate) decoder: fn(&str) -> ReplyDecoder,
    /// Streams of events, as the dialect has them.
    pub(crate) streams: &'static [&'static [&'static str]],
    /// Replies in one piece.
    pub(crate) documents: &'static [&'static str],
    /// The folder of recorded ones.
    pub(crate) recorded: &'static str,
    /// Whether the name of an event is its `type`.
    pub(crate) named: bool,
    /// What follows the last event.
    pub(crate) end_mark: Option<&'static str>,
    /// How much longer than the body the content may be: 1 where it is what the body says, verbatim.
    pub(crate) growth_max: usize,
    pub(crate) iterations: usize,
}

/// All that a decoder says of a body.
#[derive(Debug, Default, PartialEq)]
struct Said {
    chunks: Vec<LlmChunk>,
    error: Option<String>,
}

impl Dialect {
    /// Checks the decoder on as many bodies.
    pub(crate) fn check(&self) {
        let own =
            self.streams.iter().map(|stream| stream.iter().map(|event| json(event)).collect::<Vec<_>>());
        let recorded =
            streams(self.recorded).into_iter().map(|stream| stream.iter().map(|event| json(event)).collect());
        let streams: Vec<Vec<Value>> = own.chain(recorded).collect();
        let documents: Vec<Value> = self.documents.iter().map(|document| json(document)).collect();
        let donors: Vec<Value> = streams.iter().flatten().chain(&documents).cloned().collect();
        // Unspoiled, a stream of the dialect is a reply.
        for stream in &streams {
            let data: Vec<String> = stream.iter().map(Value::to_string).collect();
            let said = self.decode(&whole(&self.written(&data, "\n")));
            assert!(!said.chunks.is_empty(), "expected pieces of {data:?}");
        }
        bolero::check!().with_iterations(self.iterations).with_shrink_time(shrink_time()).for_each(
            |input: &[u8]| {
                let mut dice = Dice::new(input);
                let body = self.body(&streams, &documents, &donors, &mut dice);
                let said = self.decode(&whole(&body));
                self.judge(&said, &body);
                let mut in_packets = self.decode(&split(&body, &mut dice));
                in_packets.error = heard(in_packets.error);
                assert_eq!(in_packets, said, "in packets as in one piece: {}", body.escape_ascii());
            },
        );
    }

    fn body(
        &self,
        streams: &[Vec<Value>],
        documents: &[Value],
        donors: &[Value],
        dice: &mut Dice<'_>,
    ) -> Vec<u8> {
        let mut head = dice.one_of(&HEADS).to_owned();
        if dice.once_in(16) {
            head += &dice.one_of(&[" ", "\n", "\t"]).repeat(dice.one_of(&BLANKS));
        }
        let mut body = head.into_bytes();
        if dice.once_in(4) {
            let document = documents[dice.below(documents.len())].clone();
            body.extend_from_slice(spoiled(&[document], donors, dice).concat().as_bytes());
            return body;
        }
        let stream = &streams[dice.below(streams.len())];
        let (beginning, rest) = stream.split_at(stream.len().min(1 + dice.below(BEGINNING_MAX)));
        let end = &rest[rest.len().saturating_sub(2)..];
        let data = spoiled(&[beginning, end].concat(), donors, dice);
        body.extend(self.written(&data, dice.one_of(&["\n", "\r\n", "\r"])));
        if dice.once_in(16) {
            body.truncate(dice.below(body.len() + 1));
        }
        if dice.once_in(32) {
            let at = dice.below(body.len() + 1);
            let raw = dice.raw(3).to_vec();
            body.splice(at..at, raw);
        }
        body
    }

    /// The events as a server sends them.
    fn written(&self, events: &[String], line_end: &str) -> Vec<u8> {
        let mut body = String::new();
        for event in events {
            if self.named
                && let Some(name) = json(event)["type"].as_str().filter(|name| !name.contains(['\r', '\n']))
            {
                body += &format!("event: {name}{line_end}");
            }
            body += &format!("data: {event}{line_end}{line_end}");
        }
        if let Some(mark) = self.end_mark {
            body += &format!("data: {mark}{line_end}{line_end}");
        }
        body.into_bytes()
    }

    fn decode(&self, packets: &[Packet]) -> Said {
        let (mut decoder, mut said) = ((self.decoder)("fuzzed"), Said::default());
        for packet in packets {
            decoder.push(&packet.bytes);
            take(&mut decoder, packet.take, &mut said);
        }
        decoder.finish();
        take(&mut decoder, usize::MAX, &mut said);
        assert!(decoder.is_over(), "the body has ended and all was taken");
        decoder.push(b"data: {}\n\n");
        assert!(matches!(decoder.next_chunk(), Ok(None)), "nothing follows the end or an error");
        said
    }

    /// Nothing is invented, and nothing grows beyond its bound.
    fn judge(&self, said: &Said, body: &[u8]) {
        let mut calls = BTreeSet::new();
        let (mut content, mut told) = (0, 0);
        for chunk in &said.chunks {
            content += chunk.content_bytes();
            match chunk {
                LlmChunk::Text { text, .. }
                | LlmChunk::Reasoning { text, .. }
                | LlmChunk::Refusal { text, .. } => {
                    assert!(!text.is_empty(), "a piece of text is never empty");
                }
                LlmChunk::ToolArguments { choice, call, id, name, .. } => {
                    assert!(*call < TOOL_CALLS_MAX, "call {call} is beyond the bound");
                    calls.insert((*choice, *call));
                    told += id.as_ref().map_or(0, String::len) + name.as_ref().map_or(0, String::len);
                }
                LlmChunk::Finish { reason, .. } => told += reason.len(),
                LlmChunk::Declined { explanation, .. } => told += explanation.as_ref().map_or(0, String::len),
                LlmChunk::Turn(turn) => {
                    let bytes = turn.content.to_string().len();
                    assert!(
                        bytes <= self.growth_max.max(6) * body.len() + TURN_FRAME_BYTES,
                        "a turn of {bytes} bytes"
                    );
                }
                _ => {}
            }
        }
        assert!(calls.len() <= TOOL_CALLS_MAX, "{} calls", calls.len());
        assert!(said.chunks.len() <= body.len(), "{} pieces", said.chunks.len());
        assert!(
            content <= self.growth_max * body.len(),
            "{content} bytes of content from {} bytes",
            body.len()
        );
        assert!(told <= body.len(), "{told} bytes of names from {} bytes", body.len());
    }
}

/// Takes so many pieces, or all there are.
fn take(decoder: &mut ReplyDecoder, chunks_max: usize, said: &mut Said) {
    for _ in 0..chunks_max {
        match decoder.next_chunk() {
            Ok(Some(chunk)) => {
                assert_eq!(said.error, None, "nothing follows an error");
                said.chunks.push(chunk);
            }
            Ok(None) => break,
            Err(error) => {
                assert_eq!(said.error, None, "an error comes once");
                assert!(decoder.is_over(), "an error ends the reply");
                said.error = Some(format!("{error:?}"));
            }
        }
    }
}

/// The event as a tree; what is spoiled beyond JSON is none.
fn json(event: &str) -> Value {
    serde_json::from_str(event).unwrap_or_default()
}
