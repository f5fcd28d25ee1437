//! From the dialect's JSON to chunks, without judging and without repair.

use serde_json::value::RawValue;

use super::calls::{Calls, Identity};
use super::fault;
use super::returned::{self, Returned};
use super::wire::{Choice, Content, Delta, Envelope, FunctionDelta, Part, ToolDelta, TypedPart};
use crate::chunk::LlmChunk;
use crate::dialect::{Chunks, Decode, Ended, Fault, RunningUsage, filled, parse, value};
use crate::error::MalformedReply;

/// The data of the event that ends a stream.
const END_MARK: &str = "[DONE]";

/// Names of events that keep the connection alive, for servers that use no comments for it.
const KEEP_ALIVE: [&str; 4] = ["ping", "heartbeat", "keepalive", "keep-alive"];

/// Reads the events of one reply, in order.
#[derive(Debug)]
pub(super) struct ChatDecoder {
    calls: Calls,
    returned: Returned,
    usage: RunningUsage,
    /// A delta has come: whole messages in the same stream repeat what the deltas said.
    has_deltas: bool,
    /// Reasoning has come as text of its own: its blocks repeat it.
    has_plain_reasoning: bool,
    broken_off: bool,
    ended: Ended,
}

impl Decode for ChatDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Chunks) -> Result<(), Fault> {
        let data = data.trim();
        if data == END_MARK {
            self.ended = Ended::ByMark;
            return Ok(());
        }
        if data.is_empty() || KEEP_ALIVE.contains(&name) {
            return Ok(());
        }
        if name == "error" {
            return Err(fault::named(data));
        }
        if data.starts_with('[') {
            return Err(fault::listed(data));
        }
        let envelope = self.past_faults(parse(data)?, data, out)?;
        self.take(envelope, false, out)
    }

    fn whole(&mut self, body: &str, out: &mut Chunks) -> Result<(), Fault> {
        let body = body.trim();
        if body.starts_with('[') {
            return Err(fault::listed(body));
        }
        let envelope = self.past_faults(parse(body)?, body, out)?;
        if envelope.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(Fault::Malformed(MalformedReply::NotTheDialect));
        }
        self.take(envelope, true, out)
    }

    fn finish(&mut self, out: &mut Chunks) -> Result<(), Fault> {
        if self.broken_off {
            return Err(fault::broken_off());
        }
        out.extend(self.returned.turn(self.calls.count(0)).map(LlmChunk::Turn));
        Ok(())
    }

    fn ended(&self) -> Ended {
        self.ended
    }
}

impl ChatDecoder {
    /// A decoder at the start of a reply.
    pub(super) fn new() -> Self {
        Self {
            calls: Calls::default(),
            returned: Returned::default(),
            usage: RunningUsage::default(),
            has_deltas: false,
            has_plain_reasoning: false,
            broken_off: false,
            ended: Ended::NotYet,
        }
    }

    /// The event, unless it reports an error; what usage that one tells is kept.
    fn past_faults(&mut self, envelope: Envelope, data: &str, out: &mut Chunks) -> Result<Envelope, Fault> {
        match fault::reported(&envelope, data) {
            None => Ok(envelope),
            Some(fault) => {
                let usage = value(envelope.usage).or_else(|| value(value(envelope.x_groq)?.usage));
                usage.into_iter().for_each(|usage| self.usage.say(usage.said(), out));
                Err(fault)
            }
        }
    }

    fn take(&mut self, envelope: Envelope, whole: bool, out: &mut Chunks) -> Result<(), Fault> {
        let nested = value(envelope.x_groq).and_then(|holder| value(holder.usage));
        if let Some(usage) = nested {
            self.usage.say(usage.said(), out);
        }
        for (position, choice) in envelope.choices.unwrap_or_default().into_iter().enumerate() {
            let Choice { index, delta, message, finish_reason, usage: own, error: _ } = choice;
            let choice = value(index).unwrap_or_else(|| u32::try_from(position).unwrap_or(u32::MAX));
            // Perplexity sends both, in a stream with the text so far as the message, in a whole reply with an empty
            // delta.
            let (first, second) = if whole { (message, delta) } else { (delta, message) };
            let is_message = whole || first.is_none();
            if let Some(said) = first.or(second) {
                self.take_said(choice, said, is_message, out)?;
                self.has_deltas |= !is_message;
            }
            if let Some(reason) = value(finish_reason) {
                self.take_finish(choice, reason, out);
            }
            if let Some(usage) = value(own) {
                self.usage.say(usage.said(), out);
            }
        }
        if let Some(usage) = value(envelope.usage) {
            self.usage.say(usage.said(), out);
        }
        Ok(())
    }

    fn take_finish(&mut self, choice: u32, reason: String, out: &mut Chunks) {
        // Some servers send an empty reason with every piece: it is passed on, but ends nothing. Nor does the end of a
        // choice that is not the reply.
        if choice == 0 && !reason.is_empty() {
            self.ended = Ended::ByReason;
            self.broken_off |= fault::breaks_off(&reason);
        }
        out.push_back(LlmChunk::Finish { choice, reason });
    }

    fn take_said(
        &mut self,
        choice: u32,
        mut said: Delta,
        is_message: bool,
        out: &mut Chunks,
    ) -> Result<(), Fault> {
        let repeats = is_message && self.has_deltas;
        if !repeats {
            self.take_reasoning(choice, &mut said, out)?;
            if let Some(content) = said.content.take() {
                take_content(choice, content, false, out);
            }
            if let Some(text) = filled(value(said.refusal)) {
                out.push_back(LlmChunk::Refusal { choice, text });
            }
        } else if self.calls.count(choice) > 0 {
            return Ok(());
        }
        let parts = said.tool_calls.unwrap_or_default();
        // Servers that send both forms mean one call by them.
        let legacy = said.function_call.filter(|_| parts.is_empty());
        for part in parts {
            self.take_call(choice, part, false, out)?;
        }
        if let Some(function) = legacy {
            let part = ToolDelta { function: Some(function), ..ToolDelta::default() };
            self.take_call(choice, part, true, out)?;
        }
        Ok(())
    }

    fn take_reasoning(&mut self, choice: u32, said: &mut Delta, out: &mut Chunks) -> Result<(), Fault> {
        let (content, plain) = (value(said.reasoning_content.take()), value(said.reasoning.take()));
        let details = value(said.reasoning_details.take()).unwrap_or_default();
        let shown = filled(content.clone()).or_else(|| filled(plain.clone()));
        self.has_plain_reasoning |= shown.is_some();
        // Where more than one name is sent, they carry the same text.
        let shown = if self.has_plain_reasoning { shown } else { filled(Some(returned::readable(&details))) };
        if choice == 0 {
            self.returned.reasoning(content.as_deref(), plain.as_deref(), details)?;
        }
        out.extend(shown.map(|text| LlmChunk::Reasoning { choice, text }));
        Ok(())
    }

    fn take_call(
        &mut self,
        choice: u32,
        part: ToolDelta,
        legacy: bool,
        out: &mut Chunks,
    ) -> Result<(), Fault> {
        let (index, id) = (value(part.index), filled(value(part.id)));
        let FunctionDelta { name, arguments } = part.function.unwrap_or_default();
        let arguments = arguments.map_or(Ok(String::new()), |arguments| verbatim(&arguments))?;
        let identity = Identity { index, id, name: filled(value(name)), legacy };
        let placed = self.calls.place(choice, identity)?;
        if let Some(extra) = part.extra_content.filter(|extra| choice == 0 && !extra.is_null()) {
            self.returned.extra(placed.position, extra)?;
        }
        let (call, id, name) = (placed.position, placed.id, placed.name);
        out.push_back(LlmChunk::ToolArguments { choice, call, id, name, arguments });
        Ok(())
    }
}

/// The arguments' own bytes: what is in the text, or the text of the object.
fn verbatim(arguments: &RawValue) -> Result<String, Fault> {
    let text = arguments.get();
    if text.starts_with('{') {
        return Ok(text.to_owned());
    }
    serde_json::from_str(text).map_err(|_| Fault::Malformed(MalformedReply::NotTheDialect))
}

fn take_content(choice: u32, content: Content, thought: bool, out: &mut Chunks) {
    match content {
        Content::Text(text) if text.is_empty() => {}
        Content::Text(text) if thought => out.push_back(LlmChunk::Reasoning { choice, text }),
        Content::Text(text) => out.push_back(LlmChunk::Text { choice, text }),
        Content::Parts(parts) => parts.into_iter().for_each(|part| match part {
            Part::Bare(text) => take_content(choice, Content::Text(text), thought, out),
            Part::Typed(part) => take_part(choice, part, thought, out),
        }),
    }
}

fn take_part(choice: u32, part: TypedPart, thought: bool, out: &mut Chunks) {
    let kind = value(part.r#type).unwrap_or_default();
    let thought = thought || kind == "thinking" || kind == "reasoning";
    if let Some(thinking) = value(part.thinking) {
        take_content(choice, thinking, true, out);
    }
    if let Some(text) = value(part.text) {
        take_content(choice, Content::Text(text), thought, out);
    }
    if let Some(text) = filled(value(part.refusal)) {
        out.push_back(LlmChunk::Refusal { choice, text });
    }
}
