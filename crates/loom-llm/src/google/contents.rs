//! The turns of a conversation in the dialect's words.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::DIALECT;
use super::turn::{ARGUMENTS, CALL};
use crate::chunk::ToolCall;
use crate::dialect::{Unsendable, sent_arguments};
use crate::request::{Image, Message};

/// System text and turns, apart as the API wants them.
#[derive(Default)]
pub(super) struct Contents<'a> {
    pub(super) system: Vec<Part<'a>>,
    pub(super) contents: Vec<WireContent<'a>>,
}

#[derive(Serialize)]
pub(super) struct WireContent<'a> {
    role: Role,
    parts: Vec<Part<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Model,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Own(OwnPart<'a>),
    Kept(KeptPart<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum OwnPart<'a> {
    Text(&'a str),
    InlineData {
        mime_type: &'a str,
        data: &'a str,
    },
    FileData {
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<&'static str>,
        file_uri: &'a str,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        args: Cow<'a, RawValue>,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        response: Response<'a>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Response<'a> {
    Result(&'a str),
    Error(&'a str),
}

/// A part that is sent back as it came, the arguments of a call as they were written.
pub(super) struct KeptPart<'a> {
    part: &'a Map<String, Value>,
    call: Option<KeptCall<'a>>,
}

struct KeptCall<'a> {
    call: &'a Map<String, Value>,
    arguments: Option<Cow<'a, RawValue>>,
}

/// The calls of the latest turn that have no result yet, in their order.
type OpenCalls<'a> = Vec<&'a ToolCall>;

impl<'a> Contents<'a> {
    /// The contents of those messages.
    ///
    /// # Errors
    /// [`Unsendable`] for a call without a name, and for a result that answers no call.
    pub(super) fn of(messages: &'a [Message]) -> Result<Self, Unsendable> {
        let mut contents = Self::default();
        let mut open = OpenCalls::new();
        for message in messages {
            match message {
                Message::System { content } => contents.system.extend(text(content)),
                Message::User { content, images } => {
                    contents.say(Role::User, images.iter().map(image).chain(text(content)).collect());
                }
                Message::Tool { tool_call_id, content, is_error } => {
                    let call = answered(&mut open, tool_call_id.expose_tainted())?;
                    let content = content.expose_tainted();
                    contents.say(Role::User, vec![result(call, content, *is_error)?]);
                }
                Message::Assistant { content, tool_calls, turn } => {
                    if !contents.is_at(Role::Model) {
                        open.clear();
                    }
                    let calls = tool_calls.iter().map(|call| call.expose_tainted());
                    open.extend(calls.clone());
                    let turn = turn.as_ref().map(|turn| turn.expose_tainted());
                    let parts = match turn.filter(|turn| turn.dialect == DIALECT) {
                        Some(turn) => kept(&turn.content)?,
                        None => {
                            let text = text(content.expose_tainted()).into_iter().map(Ok);
                            text.chain(calls.map(function_call)).collect::<Result<_, _>>()?
                        }
                    };
                    contents.say(Role::Model, parts);
                }
            }
        }
        Ok(contents)
    }

    /// A content without parts would be refused, and says nothing.
    fn say(&mut self, role: Role, parts: Vec<Part<'a>>) {
        match self.contents.last_mut() {
            _ if parts.is_empty() => {}
            Some(content) if content.role == role => content.parts.extend(parts),
            _ => self.contents.push(WireContent { role, parts }),
        }
    }

    fn is_at(&self, role: Role) -> bool {
        self.contents.last().is_some_and(|content| content.role == role)
    }
}

/// The call that a result with that id answers. A result without an id answers the first call that has none, else the
/// first; one with the id of no such call answers none.
fn answered<'a>(open: &mut OpenCalls<'a>, id: &str) -> Result<&'a ToolCall, Unsendable> {
    let of_id = open.iter().position(|call| call.id.as_deref().unwrap_or_default() == id);
    let first = || (id.is_empty() && !open.is_empty()).then_some(0);
    Ok(open.remove(of_id.or_else(first).ok_or(Unsendable)?))
}

fn text(text: &str) -> Option<Part<'_>> {
    (!text.is_empty()).then_some(Part::Own(OwnPart::Text(text)))
}

fn image(image: &Image) -> Part<'_> {
    Part::Own(match image {
        Image::Data { media_type, base64 } => OwnPart::InlineData { mime_type: media_type, data: base64 },
        Image::Url(url) => match in_url(url) {
            Some((mime_type, data)) => OwnPart::InlineData { mime_type, data },
            None => OwnPart::FileData { mime_type: type_by_name(url), file_uri: url },
        },
    })
}

/// The image that a URL itself holds, which is no file.
fn in_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// The media type that the end of the URL's path tells: Vertex AI demands one.
fn type_by_name(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    Some(match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        _ => return None,
    })
}

fn function_call(call: &ToolCall) -> Result<Part<'_>, Unsendable> {
    let (id, name) = identity(call)?;
    Ok(Part::Own(OwnPart::FunctionCall { id, name, args: sent_arguments(&call.arguments)? }))
}

fn result<'a>(call: &'a ToolCall, content: &'a str, is_error: bool) -> Result<Part<'a>, Unsendable> {
    let (id, name) = identity(call)?;
    let response = if is_error { Response::Error(content) } else { Response::Result(content) };
    Ok(Part::Own(OwnPart::FunctionResponse { id, name, response }))
}

fn identity(call: &ToolCall) -> Result<(Option<&str>, &str), Unsendable> {
    let id = call.id.as_deref().filter(|id| !id.is_empty());
    Ok((id, named(call.name.as_deref())?))
}

/// The API knows no tool without a name.
fn named(name: Option<&str>) -> Result<&str, Unsendable> {
    name.filter(|name| !name.is_empty()).ok_or(Unsendable)
}

/// The parts of a turn of this dialect.
fn kept(turn: &Value) -> Result<Vec<Part<'_>>, Unsendable> {
    turn.as_array().ok_or(Unsendable)?.iter().map(|part| KeptPart::of(part).map(Part::Kept)).collect()
}

impl<'a> KeptPart<'a> {
    fn of(part: &'a Value) -> Result<Self, Unsendable> {
        let part = part.as_object().ok_or(Unsendable)?;
        let call = match part.get(CALL).map(|call| call.as_object().ok_or(Unsendable)).transpose()? {
            Some(call) => {
                named(call.get("name").and_then(Value::as_str))?;
                let text = call.get(ARGUMENTS).map(|text| text.as_str().ok_or(Unsendable)).transpose()?;
                Some(KeptCall { call, arguments: text.map(sent_arguments).transpose()? })
            }
            None => None,
        };
        Ok(Self { part, call })
    }
}

impl Serialize for KeptPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.part.len()))?;
        for (name, value) in self.part {
            match &self.call {
                Some(call) if name == CALL => map.serialize_entry(name, call)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

impl Serialize for KeptCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.call.len()))?;
        for (name, value) in self.call {
            match &self.arguments {
                Some(arguments) if name == ARGUMENTS => map.serialize_entry(name, arguments)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}
