//! From the dialect's JSON to chunks, without judging and without repair.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{CallPart, Calls, Form};
use super::content::take_content;
use super::fault;
use super::heard::Heard;
use super::returned::{self, Returned};
use super::wire::{Delta, Envelope, ToolDelta, nested_usage, said};
use crate::chunk::LlmChunk;
use crate::dialect::{
    Chunks, Decode, Ended, Fault, Field, NOT_THE_DIALECT, RunningUsage, count, document, filled, list, read,
    text,
};

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
    /// What deltas have said: whole messages in the same stream repeat it.
    heard: Heard,
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
        if matches!(data, "" | "null") || KEEP_ALIVE.contains(&name) {
            return Ok(());
        }
        if name == "error" {
            return Err(fault::named(data));
        }
        if data.starts_with('[') {
            return Err(fault::listed(data));
        }
        let envelope = self.past_faults(document(data)?, data, out)?;
        self.take(envelope, false, out)
    }

    fn whole(&mut self, body: &str, out: &mut Chunks) -> Result<(), Fault> {
        let body = body.trim();
        if body.starts_with('[') {
            return Err(fault::listed(body));
        }
        let envelope = self.past_faults(document(body)?, body, out)?;
        if envelope.choices.as_ref().is_none_or(|choices| choices.0.is_empty()) {
            return Err(NOT_THE_DIALECT);
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
            heard: Heard::default(),
            has_plain_reasoning: false,
            broken_off: false,
            ended: Ended::NotYet,
        }
    }

    /// The event, unless it reports an error; what usage that one tells is kept.
    fn past_faults<'a>(
        &mut self,
        envelope: Envelope<'a>,
        data: &str,
        out: &mut Chunks,
    ) -> Result<Envelope<'a>, Fault> {
        let Some(fault) = fault::reported(&envelope, data)? else { return Ok(envelope) };
        self.usage.say(nested_usage(envelope.x_groq)?, out);
        self.usage.say(said(envelope.usage)?, out);
        Err(fault)
    }

    fn take(&mut self, envelope: Envelope<'_>, whole: bool, out: &mut Chunks) -> Result<(), Fault> {
        self.usage.say(nested_usage(envelope.x_groq)?, out);
        for (position, choice) in
            envelope.choices.map(|choices| choices.0).unwrap_or_default().into_iter().enumerate()
        {
            if let Some(fault) = fault::of_choice(&choice) {
                self.usage.say(said(envelope.usage)?, out);
                return Err(fault);
            }
            let position = || u32::try_from(position).unwrap_or(u32::MAX);
            let number = count(choice.index).unwrap_or_else(position);
            let form = if whole { Form::Whole } else { Form::Piece };
            // Perplexity sends both, in a stream with the text so far as the message, in a whole reply with an empty
            // delta. What only one of them says is heard from it.
            let (first, second) =
                if whole { (choice.message, choice.delta) } else { (choice.delta, choice.message) };
            self.take_said(number, first.and_then(|first| first.0), form, true, out)?;
            self.take_said(number, second.and_then(|second| second.0), form, false, out)?;
            if let Some(reason) = text(choice.finish_reason)? {
                self.take_finish(number, reason, out);
            }
            self.usage.say(said(choice.usage)?, out);
        }
        self.usage.say(said(envelope.usage)?, out);
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

    /// Takes what a delta or a message says; of one that repeats others, only what those have not said.
    fn take_said(
        &mut self,
        choice: u32,
        said: Option<Delta<'_>>,
        form: Form,
        is_first: bool,
        out: &mut Chunks,
    ) -> Result<(), Fault> {
        let Some(said) = said else { return Ok(()) };
        let heard = if is_first { Heard::default() } else { self.heard };
        let before = out.len();
        if !heard.reasoning(choice) {
            self.take_reasoning(choice, &said, out)?;
        }
        if !heard.text(choice) {
            take_content(choice, said.content, out)?;
        }
        if !heard.refusal(choice) {
            out.extend(filled(text(said.refusal)?).map(|text| LlmChunk::Refusal { choice, text }));
        }
        if !heard.calls(choice) {
            self.take_calls(choice, said, form, out)?;
        }
        if is_first {
            out.iter().skip(before).for_each(|chunk| self.heard.hear(chunk));
        }
        Ok(())
    }

    fn take_reasoning(&mut self, choice: u32, said: &Delta<'_>, out: &mut Chunks) -> Result<(), Fault> {
        let (content, plain) = (text(said.reasoning_content)?, text(said.reasoning)?);
        let details = list(said.reasoning_details)?;
        let details = details.into_iter().map(read).collect::<Result<Vec<Value>, _>>()?;
        if choice == 0 {
            self.returned.reasoning(content.as_deref(), plain.as_deref());
        }
        let shown = filled(content).or_else(|| filled(plain));
        self.has_plain_reasoning |= shown.is_some();
        // Where more than one name is sent, they carry the same text.
        let shown = if self.has_plain_reasoning { shown } else { filled(Some(returned::readable(&details))) };
        if choice == 0 {
            self.returned.details(details)?;
        }
        out.extend(shown.map(|text| LlmChunk::Reasoning { choice, text }));
        Ok(())
    }

    fn take_calls(
        &mut self,
        choice: u32,
        said: Delta<'_>,
        form: Form,
        out: &mut Chunks,
    ) -> Result<(), Fault> {
        let parts = said.tool_calls.map(|parts| parts.0).unwrap_or_default();
        // Servers that send both forms mean one call by them.
        if parts.is_empty() && said.function_call.is_some() {
            let part = ToolDelta { function: said.function_call, ..ToolDelta::default() };
            return self.take_call(choice, part, Form::Legacy, out);
        }
        self.calls.begin_list();
        parts.into_iter().try_for_each(|part| self.take_call(choice, part, form, out))
    }

    fn take_call(
        &mut self,
        choice: u32,
        part: ToolDelta<'_>,
        form: Form,
        out: &mut Chunks,
    ) -> Result<(), Fault> {
        let function = part.function.and_then(|function| function.0).unwrap_or_default();
        let (index, id, name) = (count(part.index), filled(text(part.id)?), filled(text(function.name)?));
        let arguments = verbatim(function.arguments)?;
        let part_of_call = CallPart { index, id, name, arguments: &arguments, form };
        let Some(placed) = self.calls.place(choice, part_of_call)? else { return Ok(()) };
        if let Some(extra) = part.extra_content.filter(|_| choice == 0) {
            self.returned.extra(placed.position, read(extra)?)?;
        }
        let (call, id, name) = (placed.position, placed.id, placed.name);
        if id.is_some() || name.is_some() || !arguments.is_empty() {
            let arguments = arguments.into_owned();
            out.push_back(LlmChunk::ToolArguments { choice, call, id, name, arguments });
        }
        Ok(())
    }
}

/// The arguments' own bytes: what is in the text, or the text of the object.
fn verbatim(arguments: Field<'_>) -> Result<Cow<'_, str>, Fault> {
    match arguments.map(RawValue::get) {
        None => Ok(Cow::Borrowed("")),
        Some(object) if object.starts_with('{') => Ok(Cow::Borrowed(object)),
        Some(text) => serde_json::from_str(text).map(Cow::Owned).map_err(|_| NOT_THE_DIALECT),
    }
}
