//! From the dialect's JSON to chunks, without judging and without repair.

use std::collections::VecDeque;

use super::wire::{self, Choice, Content, Delta, Envelope, ToolDelta, value};
use crate::chunk::{LlmChunk, TOOL_CALLS_MAX};
use crate::error::{MalformedReply, Remedy};

/// The data of the event that ends a stream.
const END_MARK: &str = "[DONE]";

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Nothing has said that it is whole.
    NotYet,
    /// A finish reason has come; usage may follow.
    ByReason,
    /// The end mark has come; nothing follows.
    ByMark,
}

/// An event that is not a piece of a reply.
#[derive(Debug)]
pub(super) enum DecodeError {
    /// It is not of the dialect.
    Malformed(MalformedReply),
    /// It is an error that the provider reports.
    Reported {
        /// What the error's code lets the caller do.
        remedy: Remedy,
        /// The provider's words, as they came.
        message: Option<String>,
    },
}

/// Reads the events of one reply, in order.
///
/// Its state is what tells tool calls apart: a part belongs to the call with its `index`, else to the call with its
/// `id`, else it opens a call where it names a tool and continues the latest call where it does not.
#[derive(Debug)]
pub(super) struct ChatDecoder {
    calls: Vec<Call>,
    ended: Ended,
}

#[derive(Debug)]
struct Call {
    choice: u32,
    position: usize,
    index: Option<u64>,
    id: Option<String>,
}

impl ChatDecoder {
    /// A decoder at the start of a reply.
    pub(super) fn new() -> Self {
        Self { calls: Vec::new(), ended: Ended::NotYet }
    }

    /// How far the reply has come.
    pub(super) fn ended(&self) -> Ended {
        self.ended
    }

    /// Reads one event of a stream and appends its pieces.
    pub(super) fn decode(
        &mut self,
        name: &str,
        data: &str,
        out: &mut VecDeque<LlmChunk>,
    ) -> Result<(), DecodeError> {
        let data = data.trim();
        if data == END_MARK {
            self.ended = Ended::ByMark;
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let envelope = parse(data)?;
        if name == "error" {
            return Err(reported(data));
        }
        self.take(envelope, data, out)
    }

    /// Reads a reply that came in one piece and appends its pieces.
    pub(super) fn decode_whole(
        &mut self,
        body: &str,
        out: &mut VecDeque<LlmChunk>,
    ) -> Result<(), DecodeError> {
        let envelope = parse(body)?;
        let has_choices = envelope.choices.is_some();
        self.take(envelope, body, out)?;
        if has_choices { Ok(()) } else { Err(DecodeError::Malformed(MalformedReply::NotTheDialect)) }
    }

    fn take(
        &mut self,
        envelope: Envelope,
        data: &str,
        out: &mut VecDeque<LlmChunk>,
    ) -> Result<(), DecodeError> {
        let says_error = value(envelope.object).is_some_and(|object| object == "error");
        if says_error || envelope.error.is_some_and(|error| !error.is_null()) {
            return Err(reported(data));
        }
        let nested = value(envelope.x_groq).and_then(|holder| value(holder.usage));
        let mut usage = nested.and_then(wire::WireUsage::said);
        for (position, choice) in envelope.choices.unwrap_or_default().into_iter().enumerate() {
            let Choice { index, delta, message, finish_reason, usage: own } = choice;
            let choice = value(index).unwrap_or_else(|| u32::try_from(position).unwrap_or(u32::MAX));
            if let Some(delta) = delta.or(message) {
                self.take_delta(choice, delta, out)?;
            }
            if let Some(reason) = value(finish_reason) {
                // Some servers send an empty reason with every piece: it is passed on, but ends nothing.
                if !reason.is_empty() {
                    self.ended = Ended::ByReason;
                }
                out.push_back(LlmChunk::Finish { choice, reason });
            }
            usage = value(own).and_then(wire::WireUsage::said).or(usage);
        }
        usage = value(envelope.usage).and_then(wire::WireUsage::said).or(usage);
        out.extend(usage.map(LlmChunk::Usage));
        Ok(())
    }

    fn take_delta(
        &mut self,
        choice: u32,
        delta: Delta,
        out: &mut VecDeque<LlmChunk>,
    ) -> Result<(), DecodeError> {
        // Where both names are sent, they carry the same text.
        if let Some(text) = filled(value(delta.reasoning_content)).or_else(|| filled(value(delta.reasoning)))
        {
            out.push_back(LlmChunk::Reasoning { choice, text });
        }
        if let Some(content) = delta.content {
            take_content(choice, content, false, out);
        }
        if let Some(text) = filled(value(delta.refusal)) {
            out.push_back(LlmChunk::Refusal { choice, text });
        }
        for part in delta.tool_calls.unwrap_or_default() {
            self.take_tool_part(choice, part, out)?;
        }
        Ok(())
    }

    fn take_tool_part(
        &mut self,
        choice: u32,
        part: ToolDelta,
        out: &mut VecDeque<LlmChunk>,
    ) -> Result<(), DecodeError> {
        let (index, id) = (value(part.index), filled(value(part.id)));
        let function = part.function.unwrap_or_default();
        let (name, arguments) = (filled(value(function.name)), function.arguments.unwrap_or_default());
        let mut own = self.calls.iter_mut().filter(|call| call.choice == choice);
        let known = match (index, &id) {
            (Some(_), _) => own.find(|call| call.index == index),
            (None, Some(_)) => own.find(|call| call.id == id),
            (None, None) if name.is_some() => None,
            (None, None) => own.next_back(),
        };
        let call = match known {
            Some(call) => {
                call.id = call.id.take().or_else(|| id.clone());
                call.position
            }
            None => self.open_call(choice, index, id.clone())?,
        };
        out.push_back(LlmChunk::ToolArguments { choice, call, id, name, arguments });
        Ok(())
    }

    fn open_call(
        &mut self,
        choice: u32,
        index: Option<u64>,
        id: Option<String>,
    ) -> Result<usize, DecodeError> {
        if self.calls.len() >= TOOL_CALLS_MAX {
            return Err(DecodeError::Malformed(MalformedReply::TooManyToolCalls));
        }
        let position = self.calls.iter().filter(|call| call.choice == choice).count();
        self.calls.push(Call { choice, position, index, id });
        Ok(position)
    }
}

fn take_content(choice: u32, content: Content, thought: bool, out: &mut VecDeque<LlmChunk>) {
    match content {
        Content::Text(text) if text.is_empty() => {}
        Content::Text(text) if thought => out.push_back(LlmChunk::Reasoning { choice, text }),
        Content::Text(text) => out.push_back(LlmChunk::Text { choice, text }),
        Content::Parts(parts) => {
            for part in parts {
                if let Some(thinking) = value(part.thinking) {
                    take_content(choice, thinking, true, out);
                }
                if let Some(text) = value(part.text) {
                    take_content(choice, Content::Text(text), thought, out);
                }
            }
        }
    }
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn parse(data: &str) -> Result<Envelope, DecodeError> {
    serde_json::from_str(data).map_err(|_| DecodeError::Malformed(MalformedReply::NotTheDialect))
}

fn reported(data: &str) -> DecodeError {
    let told = serde_json::from_str(data).map(|body| wire::told(&body)).unwrap_or_default();
    DecodeError::Reported { remedy: told.remedy.unwrap_or(Remedy::Retry), message: told.message }
}
