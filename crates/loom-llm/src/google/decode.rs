//! From the dialect's objects to chunks, without judging and without repair.

use serde_json::value::RawValue;

use super::calls::Calls;
use super::turn::Turn;
use super::wire::{Candidate, Chunk, Content, Part, PlainText, PromptFeedback, said};
use crate::chunk::LlmChunk;
use crate::dialect::{
    Chunks, Decode, Ended, Fault, Field, NOT_THE_DIALECT, RunningUsage, count, document, filled, list,
    object, parse, text,
};

/// The word of a candidate that the model ended itself.
const STOP: &str = "STOP";

/// The words of a candidate that the provider held back or broke off for what it says.
const REFUSALS: [&str; 9] = [
    "BLOCKLIST",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
    "PROHIBITED_CONTENT",
    "RECITATION",
    "SAFETY",
    "SPII",
];

/// The word for having none.
const NO_REASON: &str = "FINISH_REASON_UNSPECIFIED";

/// The data with which some middle boxes end every stream, whatever its dialect.
const FOREIGN_END_MARK: &str = "[DONE]";

/// Names of events that keep the connection alive, for middle boxes that use no comments for it.
const KEEP_ALIVE: [&str; 4] = ["ping", "heartbeat", "keepalive", "keep-alive"];

/// Reads the objects of one reply, in order.
#[derive(Debug)]
pub(super) struct ContentDecoder {
    calls: Calls,
    turn: Turn,
    usage: RunningUsage,
    /// There was a candidate, or a word on why there is none.
    answered: bool,
    ended: Ended,
}

impl Decode for ContentDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Chunks) -> Result<(), Fault> {
        let data = data.trim();
        if data == FOREIGN_END_MARK {
            // It is the middle box that ended, so it says nothing of a reply without a finish reason.
            self.ended = if self.ended == Ended::NotYet { Ended::NotYet } else { Ended::ByMark };
            return Ok(());
        }
        if data.is_empty() || KEEP_ALIVE.contains(&name) {
            return Ok(());
        }
        if name == "error" {
            return Err(Fault::reported(data));
        }
        self.take_all(data, out)
    }

    fn whole(&mut self, body: &str, out: &mut Chunks) -> Result<(), Fault> {
        let body = body.trim();
        self.take_all(body, out)?;
        if !self.answered {
            return Err(NOT_THE_DIALECT);
        }
        // A list is a stream in another wrapping.
        if body.starts_with('[') && self.ended == Ended::NotYet { Err(Fault::Cut) } else { Ok(()) }
    }

    fn finish(&mut self, out: &mut Chunks) -> Result<(), Fault> {
        for (choice, position, arguments) in self.calls.end(out)? {
            if choice == 0 {
                self.turn.end_call(position, arguments);
            }
        }
        out.extend(self.turn.take().map(LlmChunk::Turn));
        Ok(())
    }

    fn ended(&self) -> Ended {
        self.ended
    }
}

impl ContentDecoder {
    /// A decoder at the start of a reply.
    pub(super) fn new() -> Self {
        Self {
            calls: Calls::default(),
            turn: Turn::default(),
            usage: RunningUsage::default(),
            answered: false,
            ended: Ended::NotYet,
        }
    }

    /// Takes one object or a list of them.
    fn take_all(&mut self, data: &str, out: &mut Chunks) -> Result<(), Fault> {
        if !data.starts_with('[') {
            return self.take(data, out);
        }
        parse::<Vec<&RawValue>>(data)?.into_iter().try_for_each(|chunk| self.take(chunk.get(), out))
    }

    fn take(&mut self, data: &str, out: &mut Chunks) -> Result<(), Fault> {
        let chunk: Chunk<'_> = document(data)?;
        if chunk.is_error() {
            self.take_usage(chunk.usage_metadata, out)?;
            return Err(Fault::reported(data));
        }
        let candidates = list(chunk.candidates)?;
        let unanswered = candidates.is_empty();
        self.answered |= !unanswered;
        for (position, candidate) in candidates.into_iter().enumerate() {
            self.take_candidate(position, candidate, out)?;
        }
        self.take_usage(chunk.usage_metadata, out)?;
        if unanswered { self.take_feedback(chunk.prompt_feedback, out) } else { Ok(()) }
    }

    fn take_candidate(
        &mut self,
        position: usize,
        candidate: &RawValue,
        out: &mut Chunks,
    ) -> Result<(), Fault> {
        let candidate: Candidate<'_> = object(Some(candidate))?.unwrap_or_default();
        let choice = count(candidate.index).unwrap_or_else(|| u32::try_from(position).unwrap_or(u32::MAX));
        let content: Content<'_> = object(candidate.content)?.unwrap_or_default();
        for part in list(content.parts)? {
            self.take_part(choice, part, out)?;
        }
        if let Some(reason) = text(candidate.finish_reason)? {
            let declined = REFUSALS.contains(&&*reason);
            self.take_finish(choice, reason, out);
            if declined {
                let explanation = filled(text(candidate.finish_message)?);
                out.push_back(LlmChunk::Declined { choice, explanation });
            }
        }
        Ok(())
    }

    fn take_part(&mut self, choice: u32, raw: &RawValue, out: &mut Chunks) -> Result<(), Fault> {
        if let Ok(PlainText { text, thought }) = serde_json::from_str(raw.get()) {
            let thought = thought.unwrap_or(false);
            if choice == 0 {
                self.turn.say(&text, thought);
            }
            say(choice, text.into_owned(), thought, out);
            return Ok(());
        }
        let Some(part) = object::<Part<'_>>(Some(raw))? else { return Ok(()) };
        if let Some(piece) = object(part.function_call)? {
            let Some(taken) = self.calls.take(choice, &piece, out)? else { return Ok(()) };
            if choice == 0 {
                self.turn.call(taken.position, Some(raw))?;
                if let Some(arguments) = taken.arguments {
                    self.turn.end_call(taken.position, arguments);
                }
            }
            return Ok(());
        }
        if choice == 0 {
            self.turn.keep(Some(raw))?;
        }
        say(choice, text(part.text)?.unwrap_or_default(), part.is_thought(), out);
        Ok(())
    }

    fn take_finish(&mut self, choice: u32, reason: String, out: &mut Chunks) {
        // An empty reason is passed on, but ends nothing. Nor does the end of a choice that is not the reply.
        if choice == 0 && !reason.is_empty() && reason != NO_REASON {
            self.ended = Ended::ByReason;
        }
        if reason == STOP {
            self.calls.stop(choice);
        }
        out.push_back(LlmChunk::Finish { choice, reason });
    }

    /// A request that is blocked has no answer, and its reason is how the reply ended.
    fn take_feedback(&mut self, feedback: Field<'_>, out: &mut Chunks) -> Result<(), Fault> {
        let feedback: PromptFeedback<'_> = object(feedback)?.unwrap_or_default();
        if let Some(reason) = filled(text(feedback.block_reason)?) {
            self.answered = true;
            let explanation = filled(text(feedback.block_reason_message)?);
            self.take_finish(0, reason, out);
            out.push_back(LlmChunk::Declined { choice: 0, explanation });
        }
        Ok(())
    }

    /// Figures are totals so far, so that a later one replaces an earlier one (spec row D3).
    fn take_usage(&mut self, usage: Field<'_>, out: &mut Chunks) -> Result<(), Fault> {
        self.usage.say(said(usage)?, out);
        Ok(())
    }
}

fn say(choice: u32, text: String, is_thought: bool, out: &mut Chunks) {
    match is_thought {
        _ if text.is_empty() => {}
        true => out.push_back(LlmChunk::Reasoning { choice, text }),
        false => out.push_back(LlmChunk::Text { choice, text }),
    }
}
