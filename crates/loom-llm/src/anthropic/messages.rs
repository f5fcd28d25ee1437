//! The turns of a conversation in the dialect's words.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::DIALECT;
use super::call_ids::CallIds;
use crate::chunk::ToolCall;
use crate::dialect::{Unsendable, object_of, sent_arguments};
use crate::request::{Image, Message};

/// System text and turns, apart as the API wants them.
#[derive(Default)]
pub(super) struct Conversation<'a> {
    pub(super) system: Vec<WireBlock<'a>>,
    pub(super) turns: Vec<WireTurn<'a>>,
}

#[derive(Serialize)]
pub(super) struct WireTurn<'a> {
    role: Role,
    content: Vec<WireBlock<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WireBlock<'a> {
    Own(OwnBlock<'a>),
    Kept(KeptBlock<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OwnBlock<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ImageSource<'a> {
    Url { url: &'a str },
    Base64 { media_type: &'a str, data: &'a str },
}

/// A block that is sent back as it came, the input of a tool as it was written.
pub(super) struct KeptBlock<'a> {
    block: &'a Map<String, Value>,
    input: Option<Cow<'a, RawValue>>,
}

impl<'a> Conversation<'a> {
    /// The conversation of those messages.
    ///
    /// Messages of one side that follow each other are one turn, as they are to the API; so all results of a turn's
    /// tools stand in the message after it, and there before anything else, as the API demands.
    ///
    /// # Errors
    /// [`Unsendable`] for a call without a name, and for a result that answers no call.
    pub(super) fn of(messages: &'a [Message]) -> Result<Self, Unsendable> {
        let mut conversation = Self::default();
        let mut ids = CallIds::default();
        for message in messages {
            let (role, blocks) = match message {
                Message::System { content } => {
                    conversation.system.extend(text(content));
                    continue;
                }
                Message::User { content, images } => {
                    (Role::User, images.iter().map(image).chain(text(content)).collect())
                }
                Message::Tool { tool_call_id, content, is_error } => {
                    let tool_use_id = ids.of_result(tool_call_id.expose_tainted())?;
                    let content = Some(content.expose_tainted().as_str()).filter(|text| !is_blank(text));
                    let result = OwnBlock::ToolResult { tool_use_id, content, is_error: *is_error };
                    (Role::User, vec![WireBlock::Own(result)])
                }
                Message::Assistant { content, tool_calls, turn } => {
                    if !conversation.is_at(Role::Assistant) {
                        ids.begin_turn();
                    }
                    let turn = turn.as_ref().map(|turn| turn.expose_tainted());
                    let blocks = match turn.filter(|turn| turn.dialect == DIALECT) {
                        Some(turn) => kept(&turn.content, &mut ids)?,
                        None => {
                            let calls =
                                tool_calls.iter().map(|call| tool_use(call.expose_tainted(), &mut ids));
                            text(content.expose_tainted())
                                .into_iter()
                                .map(Ok)
                                .chain(calls)
                                .collect::<Result<_, _>>()?
                        }
                    };
                    (Role::Assistant, blocks)
                }
            };
            conversation.say(role, blocks);
        }
        for turn in &mut conversation.turns {
            turn.content.sort_by_key(|block| !block.is_result());
        }
        Ok(conversation)
    }

    /// A message without blocks would be refused, and says nothing.
    fn say(&mut self, role: Role, blocks: Vec<WireBlock<'a>>) {
        match self.turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(turn) if turn.role == role => turn.content.extend(blocks),
            _ => self.turns.push(WireTurn { role, content: blocks }),
        }
    }

    fn is_at(&self, role: Role) -> bool {
        self.turns.last().is_some_and(|turn| turn.role == role)
    }
}

impl WireBlock<'_> {
    /// Whether it is what a tool of the caller's returned.
    fn is_result(&self) -> bool {
        matches!(self, Self::Own(OwnBlock::ToolResult { .. }))
    }
}

fn text(text: &str) -> Option<WireBlock<'_>> {
    (!is_blank(text)).then_some(WireBlock::Own(OwnBlock::Text { text }))
}

/// The API refuses text blocks of nothing but white space, though its models write them.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn image(image: &Image) -> WireBlock<'_> {
    let source = match image {
        Image::Url(url) => in_url(url).unwrap_or(ImageSource::Url { url }),
        Image::Data { media_type, base64 } => ImageSource::Base64 { media_type, data: base64 },
    };
    WireBlock::Own(OwnBlock::Image { source })
}

/// The image that a URL itself holds: the API fetches `http` ones alone.
fn in_url(url: &str) -> Option<ImageSource<'_>> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(ImageSource::Base64 { media_type, data })
}

fn tool_use<'a>(call: &'a ToolCall, ids: &mut CallIds<'a>) -> Result<WireBlock<'a>, Unsendable> {
    let name = call.name.as_deref().filter(|name| !name.is_empty()).ok_or(Unsendable)?;
    let input = sent_arguments(&call.arguments)?;
    Ok(WireBlock::Own(OwnBlock::ToolUse { id: ids.of_call(call), name, input }))
}

/// The blocks of a turn of this dialect, without those that the API would refuse.
fn kept<'a>(turn: &'a Value, ids: &mut CallIds<'a>) -> Result<Vec<WireBlock<'a>>, Unsendable> {
    let mut kept = Vec::new();
    for block in turn.as_array().ok_or(Unsendable)? {
        let block = block.as_object().ok_or(Unsendable)?;
        let words = |name: &str| block.get(name).and_then(Value::as_str);
        let kind = words("type").ok_or(Unsendable)?;
        if kind == "text" && words("text").is_none_or(is_blank) {
            continue;
        }
        // A tool of the provider's own whose input was cut off has not run.
        if kind != "tool_use" && words("input").is_some_and(|input| object_of(input).is_none()) {
            continue;
        }
        let input = words("input").map(sent_arguments).transpose()?;
        if kind == "tool_use" {
            words("name").filter(|name| !name.is_empty()).ok_or(Unsendable)?;
            ids.keep(words("id").unwrap_or_default());
        }
        kept.push(KeptBlock { block, input });
    }
    // Thinking with nothing after it and no signature was cut off, and is refused without one.
    while kept.last().is_some_and(KeptBlock::is_unsigned_thinking) {
        kept.pop();
    }
    Ok(kept.into_iter().map(WireBlock::Kept).collect())
}

impl KeptBlock<'_> {
    fn is_unsigned_thinking(&self) -> bool {
        let words = |name: &str| self.block.get(name).and_then(Value::as_str).unwrap_or_default();
        words("type") == "thinking" && words("signature").is_empty()
    }
}

impl Serialize for KeptBlock<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.block.len()))?;
        for (name, value) in self.block {
            match &self.input {
                Some(input) if name == "input" => map.serialize_entry(name, input)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}
