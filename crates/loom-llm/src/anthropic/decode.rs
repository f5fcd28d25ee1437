//! From the dialect's events to chunks, without judging and without repair.

use serde_json::value::RawValue;

use super::DIALECT;
use super::blocks::Blocks;
use super::wire::{Event, MessageHead, StopDetails, said};
use crate::chunk::{LlmChunk, ProviderTurn};
use crate::dialect::{
    Chunks, Decode, Ended, Fault, Field, NOT_THE_DIALECT, RunningUsage, count, document, filled, object, text,
};
use crate::error::MalformedReply;

/// The word with which a message ends that the provider or the model declined.
const REFUSAL: &str = "refusal";

/// The data with which some middle boxes end every stream, whatever its dialect.
const FOREIGN_END_MARK: &str = "[DONE]";

/// Reads the events of one reply, in order.
///
/// A message that begins while another is open takes its place where no text had been sent, and is a fault where some
/// had; the same one announced twice is one.
#[derive(Debug)]
pub(super) struct MessageDecoder {
    /// The id of the message that has begun, where it told one.
    message_id: Option<String>,
    begun: bool,
    blocks: Blocks,
    usage: RunningUsage,
    ended: Ended,
}

impl Decode for MessageDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Chunks) -> Result<(), Fault> {
        let data = data.trim();
        if data == FOREIGN_END_MARK {
            // It is the middle box that ended, so it says nothing of a message without a stop reason.
            self.ended = if self.ended == Ended::NotYet { Ended::NotYet } else { Ended::ByMark };
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        if name == "error" {
            return Err(Fault::reported(data));
        }
        let event: Event<'_> = document(data)?;
        if event.is_error() {
            return Err(Fault::reported(data));
        }
        let index = count(event.index);
        match &*event.kind(name) {
            "message_start" => self.begin(object(event.message)?.unwrap_or_default(), out),
            "content_block_start" => self.blocks.open(index, event.content_block, out),
            "content_block_delta" => self.blocks.add(index, event.delta, out),
            "content_block_stop" => self.blocks.close(index, out),
            "message_delta" => {
                self.take_end(&object(event.delta)?.unwrap_or_default(), out)?;
                self.take_usage(event.usage, out)
            }
            "message_stop" => {
                self.ended = Ended::ByMark;
                Ok(())
            }
            "error" => Err(Fault::reported(data)),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &str, out: &mut Chunks) -> Result<(), Fault> {
        let message: MessageHead<'_> = document(body)?;
        if message.is_error() {
            return Err(Fault::reported(body));
        }
        let content = match message.content() {
            Some(content) => content,
            None if message.content.is_none() && message.has_ended() => Vec::new(),
            None => return Err(NOT_THE_DIALECT),
        };
        self.take_content(content, out)?;
        self.take_end(&message, out)?;
        self.take_usage(message.usage, out)
    }

    fn finish(&mut self, out: &mut Chunks) -> Result<(), Fault> {
        self.blocks.close_all(out)?;
        if let Some(content) = self.blocks.take_turn() {
            out.push_back(LlmChunk::Turn(ProviderTurn::new(DIALECT, content)));
        }
        Ok(())
    }

    fn ended(&self) -> Ended {
        self.ended
    }
}

impl MessageDecoder {
    /// A decoder at the start of a reply.
    pub(super) fn new() -> Self {
        Self {
            message_id: None,
            begun: false,
            blocks: Blocks::default(),
            usage: RunningUsage::default(),
            ended: Ended::NotYet,
        }
    }

    fn begin(&mut self, message: MessageHead<'_>, out: &mut Chunks) -> Result<(), Fault> {
        let id = filled(text(message.id)?);
        if self.begun && !self.is_announced_again(id.as_deref()) {
            if self.blocks.has_sent_text() {
                return Err(Fault::Malformed(MalformedReply::Spliced));
            }
            out.push_back(LlmChunk::Superseded);
            *self = Self::new();
        }
        let first = !self.begun;
        self.begun = true;
        self.message_id = id.or_else(|| self.message_id.take());
        if first {
            self.take_content(message.content().unwrap_or_default(), out)?;
        }
        self.take_usage(message.usage, out)
    }

    /// Without an id on either side only a message of which nothing else has come is taken for the same one.
    fn is_announced_again(&self, id: Option<&str>) -> bool {
        match (self.message_id.as_deref(), id) {
            (Some(own), Some(id)) => own == id,
            _ => self.blocks.is_empty() && self.ended == Ended::NotYet,
        }
    }

    /// Blocks that came with their message.
    fn take_content(&mut self, blocks: Vec<&RawValue>, out: &mut Chunks) -> Result<(), Fault> {
        blocks.into_iter().try_for_each(|block| self.blocks.take(block, out))
    }

    fn take_end(&mut self, message: &MessageHead<'_>, out: &mut Chunks) -> Result<(), Fault> {
        let Some(reason) = text(message.stop_reason)? else { return Ok(()) };
        let declined = reason == REFUSAL;
        if !reason.is_empty() {
            self.ended = Ended::ByReason;
        }
        out.push_back(LlmChunk::Finish { choice: 0, reason });
        if declined {
            let details: StopDetails<'_> = object(message.stop_details)?.unwrap_or_default();
            out.push_back(LlmChunk::Declined { choice: 0, explanation: filled(text(details.explanation)?) });
        }
        Ok(())
    }

    /// Figures are totals so far, so that a later one replaces an earlier one (spec row D3).
    fn take_usage(&mut self, usage: Field<'_>, out: &mut Chunks) -> Result<(), Fault> {
        self.usage.say(said(usage)?, out);
        Ok(())
    }
}
