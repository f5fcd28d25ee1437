//! The content blocks of one message, told apart by their index.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::block::{Block, Kind, partial_json};
use super::wire::Delta;
use crate::chunk::TOOL_CALLS_MAX;
use crate::dialect::{Chunks, Fault, Field, KeptValues, NOT_THE_DIALECT, filled, object, text};
use crate::error::MalformedReply;

/// The blocks of a message, in order of their first part.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// The place of the latest block with that index; a closed one stays, so that what comes late is not lost.
    places: HashMap<u64, usize>,
    calls: usize,
    text_sent: bool,
    kept: KeptValues,
}

impl Blocks {
    /// Begins a block; what it begins with is its first part.
    pub(super) fn open(
        &mut self,
        index: Option<u64>,
        block: Field<'_>,
        out: &mut Chunks,
    ) -> Result<(), Fault> {
        self.kept.keep(block)?;
        let calls = &mut self.calls;
        let next_call = || {
            if *calls >= TOOL_CALLS_MAX {
                return Err(Fault::Malformed(MalformedReply::TooManyToolCalls));
            }
            *calls += 1;
            Ok(*calls - 1)
        };
        let block = Block::begun(block, next_call)?;
        let said = out.len();
        block.say_beginning(out);
        self.text_sent |= block.kind == Kind::Text && out.len() > said;
        self.insert(index, block);
        Ok(())
    }

    /// Takes a block that came whole, or plain text in its place.
    pub(super) fn take(&mut self, block: &RawValue, out: &mut Chunks) -> Result<(), Fault> {
        if let Some(text) = text(Some(block))? {
            self.say_text(None, text, out);
            return Ok(());
        }
        self.open(None, Some(block), out)?;
        self.close(None, out)
    }

    /// Adds to the block of that index; to the latest where the index is missing.
    ///
    /// Text and thinking that belong to no such block are a block of their own, as they would be lost otherwise.
    pub(super) fn add(&mut self, index: Option<u64>, raw: Field<'_>, out: &mut Chunks) -> Result<(), Fault> {
        let delta: Delta<'_> = object(raw)?.unwrap_or_default();
        let kind = delta.kind();
        let place = self.place(index);
        let mut block = place.and_then(|place| self.blocks.get_mut(place));
        if let Some(block) = &mut block {
            block.settle(&kind);
        }
        match (&*kind, block) {
            (kind, Some(block)) if block.kind == Kind::Opaque => {
                self.kept.keep(raw)?;
                block.merge(kind, &delta, raw)?;
            }
            ("text_delta", _) => {
                self.say_text(index, text(delta.text)?.unwrap_or_default(), out);
            }
            ("thinking_delta", _) => {
                if let Some(text) = filled(text(delta.thinking)?) {
                    self.with_block(index, Kind::Thinking, |block| block.say(text, out));
                }
            }
            ("signature_delta", _) => {
                if let Some(signature) = filled(text(delta.signature)?) {
                    self.with_block(index, Kind::Thinking, |block| block.sign(signature));
                }
            }
            ("input_json_delta", block) => {
                let arguments = partial_json(&delta)?;
                if !arguments.is_empty() {
                    block.ok_or(NOT_THE_DIALECT)?.say_arguments(arguments, out)?;
                }
            }
            ("citations_delta", Some(block)) => {
                self.kept.keep(raw)?;
                block.cite(delta.citation)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the block of that index; the latest where the index is missing.
    pub(super) fn close(&mut self, index: Option<u64>, out: &mut Chunks) -> Result<(), Fault> {
        let block = self.place(index).and_then(|place| self.blocks.get_mut(place));
        block.map_or(Ok(()), |block| block.close(out))
    }

    /// Ends the blocks that were left open.
    pub(super) fn close_all(&mut self, out: &mut Chunks) -> Result<(), Fault> {
        self.blocks.iter_mut().try_for_each(|block| block.close(out))
    }

    /// Whether no block has begun.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether any text was sent.
    pub(super) fn has_sent_text(&self) -> bool {
        self.text_sent
    }

    /// All blocks as they are sent back, where text and tool calls could not rebuild them. What the API would refuse
    /// in them is left out when they are sent.
    pub(super) fn take_turn(&mut self) -> Option<Value> {
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.retain(|block| !block.is_blank());
        let needed = blocks.iter().any(Block::is_more_than_its_chunks);
        needed.then(|| blocks.into_iter().map(Block::into_value).collect())
    }

    fn place(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(index) => self.places.get(&index).copied(),
            None => self.blocks.len().checked_sub(1),
        }
    }

    fn insert(&mut self, index: Option<u64>, block: Block) {
        if let Some(index) = index {
            self.places.insert(index, self.blocks.len());
        }
        self.blocks.push(block);
    }

    fn say_text(&mut self, index: Option<u64>, text: String, out: &mut Chunks) {
        if !text.is_empty() {
            self.text_sent = true;
            self.with_block(index, Kind::Text, |block| block.say(text, out));
        }
    }

    /// Changes the block of that index where it is of that kind, else a new one.
    fn with_block(&mut self, index: Option<u64>, kind: Kind, change: impl FnOnce(&mut Block)) {
        let known = self.place(index).and_then(|place| self.blocks.get_mut(place));
        if let Some(block) = known.filter(|block| block.kind == kind) {
            return change(block);
        }
        let mut block = Block::unannounced(kind);
        change(&mut block);
        self.insert(index, block);
    }
}
