//! Recorded streams of Google's models, read from outside the repository, against an oracle of this file's own.

use futures::StreamExt;
use loom_llm::{Collected, Provider};
use serde_json::Value;

use super::{decoded, fold, provider};
use crate::fixtures::streams;
use crate::peer::{Act, Peer, request, within};

/// One recorded stream: each line is the data of one event.
struct Recording {
    name: String,
    lines: Vec<String>,
}

/// What a recording says, or a reply.
#[derive(Debug, Default, PartialEq)]
struct Said {
    text: String,
    reasoning: String,
    /// (id, name, arguments).
    tools: Vec<(String, String, String)>,
    finish: Option<String>,
    usage: Option<(u64, u64)>,
    signatures: Vec<String>,
}

fn recordings() -> Vec<Recording> {
    streams("google").into_iter().map(|(name, lines)| Recording { name, lines }).collect()
}

impl Recording {
    fn encoded(&self, line_end: &str) -> Vec<u8> {
        let events = self.lines.iter().map(|line| format!("data: {line}{line_end}{line_end}"));
        events.collect::<String>().into_bytes()
    }

    /// The recording with short signatures, which are most of its bytes and all alike.
    fn shortened(&self) -> Self {
        let short = |line: &String| {
            let mut pieces = line.split("\"thoughtSignature\":\"");
            let mut line = pieces.next().unwrap().to_owned();
            for piece in pieces {
                let (signature, rest) = piece.split_once('"').unwrap();
                line += &format!("\"thoughtSignature\":\"{}\"{rest}", &signature[..8]);
            }
            line
        };
        Self { name: self.name.clone(), lines: self.lines.iter().map(short).collect() }
    }

    /// The oracle: the recordings stream only texts at the top of the arguments, one call after the other.
    fn said(&self) -> Said {
        let mut said = Said::default();
        let mut members: Vec<(String, String)> = Vec::new();
        for line in &self.lines {
            let chunk: Value = serde_json::from_str(line).unwrap();
            let candidate = &chunk["candidates"][0];
            for part in candidate["content"]["parts"].as_array().unwrap() {
                let text = part["text"].as_str().unwrap_or_default();
                *(if part["thought"] == true { &mut said.reasoning } else { &mut said.text }) += text;
                said.signatures.extend(part["thoughtSignature"].as_str().map(str::to_owned));
                let Some(call) = part.get("functionCall") else { continue };
                if let Some(name) = call["name"].as_str() {
                    said.tools.push((String::new(), name.to_owned(), String::new()));
                }
                for piece in call["partialArgs"].as_array().into_iter().flatten() {
                    let name = piece["jsonPath"].as_str().unwrap().strip_prefix("$.").unwrap();
                    if members.last().is_none_or(|(last, _)| last != name) {
                        members.push((name.to_owned(), String::new()));
                    }
                    members.last_mut().unwrap().1 += piece["stringValue"].as_str().unwrap();
                }
                let arguments = &mut said.tools.last_mut().unwrap().2;
                if call.get("args").is_some() {
                    *arguments = balanced(line.split_once("\"args\":").unwrap().1).to_owned();
                }
                if call.get("willContinue").is_none() && !members.is_empty() {
                    let pairs = members.drain(..).map(|(name, text)| format!("\"{name}\":\"{text}\""));
                    *arguments = format!("{{{}}}", pairs.collect::<Vec<_>>().join(","));
                }
            }
            said.finish = candidate["finishReason"].as_str().map(str::to_owned).or(said.finish);
            let tokens = |field: &str| chunk["usageMetadata"][field].as_u64();
            said.usage = tokens("promptTokenCount").zip(tokens("candidatesTokenCount")).or(said.usage);
        }
        said
    }
}

/// The object that the text begins with, byte for byte.
fn balanced(text: &str) -> &str {
    let mut depth = 0;
    let end = text.char_indices().find(|(_, letter)| {
        depth += i32::from(*letter == '{') - i32::from(*letter == '}');
        depth == 0
    });
    &text[..=end.unwrap().0]
}

/// The same of a reply.
fn said(reply: Collected) -> Said {
    let calls = reply.tool_calls.into_iter();
    let tools =
        calls.map(|call| (call.id.unwrap_or_default(), call.name.unwrap_or_default(), call.arguments));
    let parts = reply.turn.map(|turn| turn.content.as_array().unwrap().clone()).unwrap_or_default();
    let signature = |part: &Value| part["thoughtSignature"].as_str().map(str::to_owned);
    Said {
        text: reply.text,
        reasoning: reply.reasoning,
        tools: tools.collect(),
        finish: reply.finish_reason,
        usage: reply.usage.map(|usage| (usage.input_tokens.unwrap(), usage.output_tokens.unwrap())),
        signatures: parts.iter().filter_map(signature).collect(),
    }
}

#[test]
fn recordings_in_single_bytes_say_what_stands_in_them() {
    for recording in recordings() {
        for line_end in ["\n", "\r\n", "\r"] {
            let body = recording.encoded(line_end);
            let (chunks, error) = decoded(body.chunks(1));
            assert!(error.is_none(), "{error:?}");
            assert_eq!(said(fold(chunks)), recording.said(), "{} {line_end:?}", recording.name);
        }
    }
}

#[test]
fn a_split_of_a_recording_at_any_byte_changes_no_piece() {
    for recording in recordings() {
        let body = recording.shortened().encoded("\n");
        let whole = decoded([body.as_slice()]).0;
        for at in 1..body.len() {
            let (head, tail) = body.split_at(at);
            let (chunks, error) = decoded([head, tail]);
            assert!(error.is_none(), "{} at {at}: {error:?}", recording.name);
            assert_eq!(chunks, whole, "{} at {at}", recording.name);
        }
    }
}

#[test]
fn a_recording_cut_anywhere_before_its_last_event_is_no_whole_reply() {
    for recording in recordings() {
        let body = recording.shortened().encoded("\n");
        let whole_from = body.len() - "\n\n".len();
        for at in 0..body.len() {
            let error = decoded([&body[..at]]).1;
            assert_eq!(error.is_none(), at >= whole_from, "{} cut at {at}: {error:?}", recording.name);
        }
    }
}

#[tokio::test]
async fn recordings_come_out_over_a_connection_however_they_are_packed() {
    for recording in recordings() {
        let body = recording.encoded("\n");
        for size in [1, 997, usize::MAX] {
            let peer = Peer::streaming(vec![Act::Split(body.clone(), size)]).await;
            let stream = within(provider(&peer).stream(&request())).await.unwrap();
            let chunks: Vec<_> = within(stream.collect()).await;
            let reply = fold(chunks.into_iter().map(|chunk| chunk.unwrap()).collect());
            assert_eq!(said(reply), recording.said(), "{} in packets of {size}", recording.name);
        }
    }
}

#[tokio::test]
async fn recordings_come_out_of_a_list_in_the_place_of_an_event_stream() {
    for recording in recordings() {
        let body = format!("[{}]", recording.lines.join("\n,\r\n")).into_bytes();
        let peer = Peer::streaming(vec![Act::Split(body, 61)]).await;
        let reply = within(provider(&peer).complete(&request())).await.unwrap();
        assert_eq!(said(reply), recording.said(), "{}", recording.name);
    }
}
