//! What a stream has said in pieces, so that a message that says it again is known as a repeat.

use crate::chunk::LlmChunk;

/// The kinds of pieces that each choice has said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    text: Choices,
    reasoning: Choices,
    refusal: Choices,
    calls: Choices,
}

/// A set of choices. The dialect has 128 at most; any beyond count as the last.
#[derive(Clone, Copy, Debug, Default)]
struct Choices(u128);

impl Heard {
    /// Takes note of a piece.
    pub(super) fn hear(&mut self, chunk: &LlmChunk) {
        match chunk {
            LlmChunk::Text { choice, .. } => self.text.add(*choice),
            LlmChunk::Reasoning { choice, .. } => self.reasoning.add(*choice),
            LlmChunk::Refusal { choice, .. } => self.refusal.add(*choice),
            LlmChunk::ToolArguments { choice, .. } => self.calls.add(*choice),
            _ => {}
        }
    }

    pub(super) fn text(&self, choice: u32) -> bool {
        self.text.has(choice)
    }

    pub(super) fn reasoning(&self, choice: u32) -> bool {
        self.reasoning.has(choice)
    }

    pub(super) fn refusal(&self, choice: u32) -> bool {
        self.refusal.has(choice)
    }

    pub(super) fn calls(&self, choice: u32) -> bool {
        self.calls.has(choice)
    }
}

impl Choices {
    fn add(&mut self, choice: u32) {
        self.0 |= Self::bit(choice);
    }

    fn has(self, choice: u32) -> bool {
        self.0 & Self::bit(choice) != 0
    }

    fn bit(choice: u32) -> u128 {
        1 << choice.min(u128::BITS - 1)
    }
}
