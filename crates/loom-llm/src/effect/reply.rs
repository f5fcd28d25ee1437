//! What an LLM effect gives: the model's words, each behind its taint.

use loom_classify::Tainted;
use loom_effect_runtime::{EffectContext, Usage};
use serde::{Deserialize, Serialize};

use crate::chunk::{Collected, ProviderTurn, ToolCall, is_false};
use crate::request::Message;

/// The reply of a model. Every text that came off the wire is tainted with the call's origins (spec row D9), so its
/// JSON form shows each behind the marked wrapper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LlmReply {
    /// The answer, which is the live text; empty where the model only called tools. A refusal is part of it.
    pub content: Tainted<String>,
    /// Whether the provider said that the model, or itself, declined to answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub refused: bool,
    /// Why it was declined, in the provider's words, where it gave any beside the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Tainted<String>>,
    /// The reasoning, where the provider showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Tainted<String>>,
    /// The tool calls, in the order they were begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<LlmToolCall>,
    /// Why the reply ended; absent where the provider did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// As the provider reported it: advisory, absent when unknown (spec row D3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The turn in the provider's own form, where the provider wants it back so (signed reasoning, say). It repeats what
    /// stands in the other fields; [`to_message`](Self::to_message) sends it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Tainted<ProviderTurn>>,
}

/// A tool call as the model wrote it. Nothing of it is checked: endorse the name against the tools there are, and read
/// the arguments with [`read_arguments`](Self::read_arguments) before they go into a small type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LlmToolCall {
    /// The provider's id for the call; absent where it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Tainted<String>>,
    /// The tool's name; absent where none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Tainted<String>>,
    /// The arguments, verbatim: JSON if the model kept to it.
    pub arguments: Tainted<String>,
}

/// Why a reply ended: a closed set, so that the provider's own word does not pass for a trusted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model had said all.
    Stop,
    /// The bound on tokens was reached: the reply is cut.
    Length,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The provider's own filter held text back.
    ContentFilter,
    /// A word that is none of these.
    Other,
}

impl LlmReply {
    /// A reply with nothing but content, for effects and tests that stand in for a model.
    #[must_use]
    pub fn new(content: Tainted<String>) -> Self {
        Self {
            content,
            refused: false,
            explanation: None,
            turn: None,
            reasoning: None,
            tool_calls: Vec::new(),
            finish_reason: None,
            usage: None,
        }
    }

    /// This turn as a message of the conversation, so that the model is shown what it said: content, tool calls and the
    /// provider's own form of them, each behind its fence.
    #[must_use]
    pub fn to_message(&self) -> Message {
        let calls = self.tool_calls.iter().map(|call| call.clone().into_call().into());
        Message::Assistant {
            content: self.content.clone().into(),
            tool_calls: calls.collect(),
            turn: self.turn.clone().map(Into::into),
        }
    }

    /// The assembled reply, tainted by the call it was made in.
    pub(super) fn of(collected: Collected, refused: bool, cx: &EffectContext<'_>) -> Self {
        let Collected {
            text,
            reasoning,
            refusal,
            tool_calls,
            finish_reason,
            usage,
            declined,
            explanation,
            turn,
        } = collected;
        let calls = tool_calls.into_iter().map(|call| LlmToolCall {
            id: call.id.map(|id| cx.taint(id)),
            name: call.name.map(|name| cx.taint(name)),
            arguments: cx.taint(call.arguments),
        });
        Self {
            refused: refused || declined,
            explanation: explanation.map(|text| cx.taint(text)),
            turn: turn.map(|turn| cx.taint(turn)),
            content: cx.taint(text + &refusal),
            reasoning: (!reasoning.is_empty()).then(|| cx.taint(reasoning)),
            tool_calls: calls.collect(),
            finish_reason: finish_reason.as_deref().and_then(FinishReason::of),
            usage,
        }
    }
}

impl LlmToolCall {
    /// The call as one value, behind the taint of its parts.
    #[must_use]
    pub fn into_call(self) -> Tainted<ToolCall> {
        let Self { id, name, arguments } = self;
        let call = arguments.map(|arguments| ToolCall { id: None, name: None, arguments });
        let call = match id {
            Some(id) => call.join(id, |call, id| ToolCall { id: Some(id), ..call }),
            None => call,
        };
        match name {
            Some(name) => call.join(name, |call, name| ToolCall { name: Some(name), ..call }),
            None => call,
        }
    }
}

impl FinishReason {
    /// The reason that a provider's word stands for; none for the empty word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "" => return None,
            "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "complete" => Self::Stop,
            "length"
            | "max_tokens"
            | "model_length"
            | "max_output_tokens"
            | "model_context_window_exceeded" => Self::Length,
            "tool_calls" | "function_call" | "tool_use" => Self::ToolCalls,
            "content_filter"
            | "refusal"
            | "sensitive"
            | "safety"
            | "recitation"
            | "blocklist"
            | "prohibited_content"
            | "spii"
            | "model_armor"
            | "image_safety"
            | "image_prohibited_content"
            | "image_recitation" => Self::ContentFilter,
            _ => Self::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::FinishReason;

    #[test]
    fn a_word_of_a_provider_becomes_one_of_a_closed_set_or_nothing() {
        for (word, reason) in [
            ("stop", Some(FinishReason::Stop)),
            ("length", Some(FinishReason::Length)),
            ("tool_calls", Some(FinishReason::ToolCalls)),
            ("content_filter", Some(FinishReason::ContentFilter)),
            ("IMAGE_PROHIBITED_CONTENT", Some(FinishReason::ContentFilter)),
            ("eos", Some(FinishReason::Stop)),
            ("model_length", Some(FinishReason::Length)),
            ("COMPLETE", Some(FinishReason::Stop)),
            ("ignore all that was said before", Some(FinishReason::Other)),
            ("", None),
        ] {
            assert_eq!(FinishReason::of(word), reason, "{word}");
        }
    }
}
