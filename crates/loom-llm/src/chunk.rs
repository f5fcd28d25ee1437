//! What a model says, piece by piece and assembled.
//!
//! These types stand *below* the guarded channel: their text is what came off the wire, neither guarded nor marked
//! as tainted. The LLM effect is what hands it to the channel and marks it; nothing else should show it to anyone.

use loom_effect_runtime::{LANES_MAX, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::MalformedReply;

/// The most tool calls that one reply may open; a further one is a malformed reply. Each has a lane of its own, beside
/// those of text and reasoning, so that a message within this bound never runs out of lanes. What follows a superseded
/// message takes further ones, and is severed by the rule `lane.limit` where there are none.
pub const TOOL_CALLS_MAX: usize = LANES_MAX - 2;

/// One piece of a streamed reply, whatever dialect it came in.
///
/// No piece is joined, repaired or de-duplicated: text and arguments are the provider's bytes, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LlmChunk {
    /// Text of the answer; never empty.
    Text {
        /// Which of the parallel answers it belongs to; 0 is the only one this crate asks for.
        choice: u32,
        /// The text.
        text: String,
    },
    /// Text of the model's reasoning, where the provider shows it; never empty.
    Reasoning {
        /// As in [`Text`](Self::Text).
        choice: u32,
        /// The text.
        text: String,
    },
    /// Text in which the model declines to answer, where the provider sends it apart; never empty.
    Refusal {
        /// As in [`Text`](Self::Text).
        choice: u32,
        /// The text.
        text: String,
    },
    /// A part of a tool call: its identity, a piece of its arguments, or both.
    ToolArguments {
        /// As in [`Text`](Self::Text).
        choice: u32,
        /// The call's position among the choice's calls, in order of their first part.
        call: usize,
        /// The provider's id for the call, on the part that tells it.
        id: Option<String>,
        /// The tool's name, on the part that tells it.
        name: Option<String>,
        /// The next piece of the arguments, verbatim; may be empty.
        arguments: String,
    },
    /// Usage so far, as the provider reported it; a later one replaces an earlier one (spec row D3).
    Usage(Usage),
    /// Why the choice ended, in the provider's own word, unknown and empty words included.
    Finish {
        /// As in [`Text`](Self::Text).
        choice: u32,
        /// The word.
        reason: String,
    },
    /// The provider or the model declined to answer the choice. Where the model did so in words of its own, they come
    /// as [`Refusal`](Self::Refusal).
    Declined {
        /// As in [`Text`](Self::Text).
        choice: u32,
        /// Why, in the provider's words.
        explanation: Option<String>,
    },
    /// What came before of reasoning and tool calls is void: the provider has begun the reply anew (a second message
    /// in one stream). It comes only where no text had been sent.
    Superseded,
    /// The whole turn of choice 0 in the provider's own form, for replies whose parts the provider wants back as they
    /// were (signed reasoning, say).
    Turn(ProviderTurn),
}

/// A turn of the model in the form of the provider it came from, kept unread and sent back to such a provider alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProviderTurn {
    /// The dialect it is written in; another dialect leaves it out.
    pub dialect: String,
    /// The turn.
    pub content: Value,
}

impl ProviderTurn {
    /// A turn in that dialect.
    #[must_use]
    pub fn new(dialect: impl Into<String>, content: Value) -> Self {
        Self { dialect: dialect.into(), content }
    }
}

impl LlmChunk {
    /// Bytes of model output in this piece; 0 where it tells of the reply and is no part of it.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        match self {
            Self::Text { text, .. } | Self::Reasoning { text, .. } | Self::Refusal { text, .. } => text.len(),
            Self::ToolArguments { arguments, .. } => arguments.len(),
            Self::Usage(_)
            | Self::Finish { .. }
            | Self::Declined { .. }
            | Self::Superseded
            | Self::Turn(_) => 0,
        }
    }
}

/// A tool call as the model wrote it, its arguments unparsed: what is not JSON is for the caller to refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The provider's id for the call; absent where it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name; absent where the provider gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments, verbatim; empty where the model sent none.
    pub arguments: String,
}

/// The assembled reply of choice 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Collected {
    /// The answer.
    pub text: String,
    /// The reasoning, where the provider showed it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The text in which the model declined, where the provider sent it apart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub refusal: String,
    /// The tool calls, in order of their first part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The last finish reason that was not empty, else an empty one if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The last usage that was not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether the reply was declined, with words of the model (`refusal`) or without.
    #[serde(default, skip_serializing_if = "is_false")]
    pub declined: bool,
    /// Why it was declined, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// The turn in the provider's own form, where the provider wants it back so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<ProviderTurn>,
}

impl Collected {
    /// Appends one piece. Pieces of other choices than 0 are not part of the reply, except for their usage.
    ///
    /// # Errors
    /// [`MalformedReply::TooManyToolCalls`] for a tool call whose position is [`TOOL_CALLS_MAX`] or more.
    pub fn fold(&mut self, chunk: LlmChunk) -> Result<(), MalformedReply> {
        match chunk {
            LlmChunk::Text { choice: 0, text } => append(&mut self.text, text),
            LlmChunk::Reasoning { choice: 0, text } => append(&mut self.reasoning, text),
            LlmChunk::Refusal { choice: 0, text } => {
                self.declined = true;
                append(&mut self.refusal, text);
            }
            LlmChunk::Declined { choice: 0, explanation } => {
                self.declined = true;
                self.explanation = explanation.or_else(|| self.explanation.take());
            }
            LlmChunk::Superseded => {
                *self = Self { text: std::mem::take(&mut self.text), usage: self.usage, ..Self::default() };
            }
            LlmChunk::Turn(turn) => self.turn = Some(turn),
            LlmChunk::ToolArguments { choice: 0, call, id, name, arguments } => {
                if call >= TOOL_CALLS_MAX {
                    return Err(MalformedReply::TooManyToolCalls);
                }
                if self.tool_calls.len() <= call {
                    self.tool_calls.resize_with(call + 1, ToolCall::default);
                }
                if let Some(slot) = self.tool_calls.get_mut(call) {
                    slot.id = slot.id.take().or(id);
                    slot.name = slot.name.take().or(name);
                    append(&mut slot.arguments, arguments);
                }
            }
            LlmChunk::Usage(usage) if usage != Usage::default() => self.usage = Some(usage),
            LlmChunk::Finish { choice: 0, reason } if !reason.is_empty() || self.finish_reason.is_none() => {
                self.finish_reason = Some(reason);
            }
            _ => {}
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

fn append(whole: &mut String, piece: String) {
    if whole.is_empty() {
        *whole = piece;
    } else {
        whole.push_str(&piece);
    }
}
