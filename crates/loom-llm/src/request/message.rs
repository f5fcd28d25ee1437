//! The turns of a conversation.

use loom_classify::Fenced;
use serde::{Deserialize, Serialize};

use crate::chunk::{ProviderTurn, ToolCall, is_false};

/// One turn of the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Message {
    /// Instructions of the program.
    System {
        /// The text; never tainted.
        content: String,
    },
    /// Words of the user.
    User {
        /// The text; never tainted.
        content: String,
        /// Images that go with it, before the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// What the model said earlier; [`LlmReply::to_message`](crate::LlmReply::to_message) makes it of a reply.
    Assistant {
        /// The text, behind its fence.
        content: Fenced<String>,
        /// The tools it called, each behind its fence.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Fenced<ToolCall>>,
        /// The whole turn in the form of the provider it came from. That provider is sent this; every other is sent
        /// content and tool calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<Fenced<ProviderTurn>>,
    },
    /// What a tool returned.
    Tool {
        /// The id of the tool call that it answers, as the model gave it. Where it gave none, the empty text: results
        /// then answer the calls of the turn before in their order.
        tool_call_id: Fenced<String>,
        /// The text, behind its fence.
        content: Fenced<String>,
        /// Whether the tool failed and the text says how.
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
    },
}

impl Message {
    /// Instructions of the program.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::System { content: content.into() }
    }

    /// Words of the user.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into(), images: Vec::new() }
    }

    /// Words of the user about images.
    #[must_use]
    pub fn user_with_images(content: impl Into<String>, images: Vec<Image>) -> Self {
        Self::User { content: content.into(), images }
    }

    /// What the model said earlier.
    #[must_use]
    pub fn assistant(content: Fenced<String>) -> Self {
        Self::Assistant { content, tool_calls: Vec::new(), turn: None }
    }

    /// What a tool returned for the call of that id.
    #[must_use]
    pub fn tool(tool_call_id: Fenced<String>, content: Fenced<String>) -> Self {
        Self::Tool { tool_call_id, content, is_error: false }
    }

    /// What a tool that failed says of the call of that id.
    #[must_use]
    pub fn tool_error(tool_call_id: Fenced<String>, content: Fenced<String>) -> Self {
        Self::Tool { tool_call_id, content, is_error: true }
    }
}

/// An image of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Image {
    /// An image that the provider fetches itself.
    Url(String),
    /// An image that goes with the request.
    Data {
        /// Its media type, as in `image/png`.
        media_type: String,
        /// Its bytes in base64 (RFC 4648 §4).
        base64: String,
    },
}
