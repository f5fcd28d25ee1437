//! Recorded and written streams in every packing of their bytes.

use super::{decoded, fold, text};
use crate::fixtures::{Recording, Said, recordings};
use crate::peer::event;
use loom_llm::{Collected, LlmChunk};

/// What a reply says, in the recordings' own terms.
pub(super) fn said(reply: Collected) -> Said {
    let calls = reply.tool_calls.into_iter();
    let tools =
        calls.map(|call| (call.id.unwrap_or_default(), call.name.unwrap_or_default(), call.arguments));
    Said {
        text: reply.text,
        reasoning: reply.reasoning,
        tools: tools.collect(),
        finish: reply.finish_reason,
        usage: reply.usage.map(|usage| (usage.input_tokens.unwrap(), usage.output_tokens.unwrap())),
    }
}

/// The recording without its middle: what is left has an event of each shape.
fn shortened(recording: &Recording) -> Recording {
    let lines = &recording.lines;
    let kept =
        if lines.len() <= 5 { lines.clone() } else { [&lines[..3], &lines[lines.len() - 2..]].concat() };
    Recording { name: recording.name.clone(), lines: kept }
}

fn pieces(packets: &[&[u8]]) -> Vec<LlmChunk> {
    let (chunks, error) = decoded(packets.iter().copied());
    assert!(error.is_none(), "{error:?}");
    chunks
}

/// Complaints 1 and 2, a character or an event split over packets is dropped: every byte of every recording is a
/// packet of its own, with each line end, and text, reasoning, tool calls, finish reason and usage come out as they
/// stand in the file.
#[test]
fn recordings_in_single_bytes_say_what_stands_in_them() {
    for recording in recordings() {
        for line_end in ["\n", "\r\n", "\r"] {
            let body = [recording.encoded(line_end), format!("data: [DONE]{line_end}").into_bytes()].concat();
            let packets: Vec<_> = body.chunks(1).collect();
            assert_eq!(said(fold(pieces(&packets))), recording.said(), "{} {line_end:?}", recording.name);
        }
    }
}

/// Complaints 1 and 2: a split at every single byte leaves the pieces the same, one by one, not only their sum.
#[test]
fn a_split_at_any_byte_changes_no_piece() {
    for recording in recordings() {
        let body = shortened(&recording).encoded("\n");
        let whole = pieces(&[&body]);
        for at in 1..body.len() {
            let (head, tail) = body.split_at(at);
            assert_eq!(pieces(&[head, tail]), whole, "{} at {at}", recording.name);
        }
    }
}

/// Complaint 1: characters of two, three and four bytes in text, reasoning and tool arguments, cut at every byte.
#[test]
fn no_character_is_seen_half() {
    let characters = "é€𝄞\u{301}";
    let body = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{characters}\",\"reasoning\":\"{characters}\"}}}}]}}\n\n\
         data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"function\":{{\"name\":\"f\",\"arguments\":\
         \"{{\\\"a\\\":\\\"{characters}\\\"}}\"}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\n"
    );
    for at in 1..body.len() {
        let (head, tail) = body.as_bytes().split_at(at);
        let reply = fold(pieces(&[head, tail]));
        assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), (characters, characters));
        assert_eq!(reply.tool_calls[0].arguments, format!("{{\"a\":\"{characters}\"}}"));
    }
}

/// Complaint 2: comments, keep-alives, a byte order mark, multi-line data, no space behind the colon and no blank line
/// at the end, cut at every byte.
#[test]
fn every_form_of_an_event_is_read_at_every_split() {
    let body = "\u{feff}: OPENROUTER PROCESSING\n\n:\r\nevent: ping\ndata: \n\nevent: heartbeat\ndata: alive\n\n\
                data:{\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\r\n\r\nid: 7\nretry: 9\n\
                data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\r\rdata:   [DONE]  ";
    for at in 1..body.len() {
        let (head, tail) = body.as_bytes().split_at(at);
        assert_eq!(fold(pieces(&[head, tail])).text, "ab", "at {at}");
    }
}

/// Complaint 2: a body that ends inside an event is told from a whole one, wherever it ends.
#[test]
fn a_body_cut_anywhere_before_its_end_is_no_whole_reply() {
    let body = [event(&text("héllo").to_string()), event(&super::end().to_string())].concat();
    let whole_from = body.len() - "\n\n".len();
    for at in 0..body.len() {
        let (chunks, error) = decoded([&body[..at]]);
        assert_eq!(error.is_none(), at >= whole_from, "cut at {at}: {error:?} after {chunks:?}");
    }
}

/// However much white space stands before a body (servers keep connections alive with it), and wherever its packets
/// end, it is the same body.
#[test]
fn blank_bytes_before_a_body_tell_the_same_in_any_packets() {
    let document = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    for blank in [" ", "\n", "\r\n", "\u{feff}\n"] {
        for (blanks, body) in
            [0, 1, 1024, 3000].into_iter().flat_map(|blanks| [(blanks, document), (blanks, event)])
        {
            let blanks = if blank.starts_with('\u{feff}') { blanks.min(1) } else { blanks };
            let body = [blank.repeat(blanks), body.to_owned()].concat();
            for size in [1, 7, 512, 1025, body.len()] {
                let (chunks, error) = decoded(body.as_bytes().chunks(size));
                assert!(error.is_none(), "{blanks} of {blank:?} in {size}: {error:?}");
                assert_eq!(fold(chunks).text, "hi", "{blanks} of {blank:?} in {size}");
            }
        }
    }
}
