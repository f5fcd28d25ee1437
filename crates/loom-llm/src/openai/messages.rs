//! The conversation in the dialect's words.

use std::borrow::Cow;
use std::collections::VecDeque;

use loom_classify::Fenced;
use serde::Serialize;
use serde_json::Value;

use super::DIALECT;
use super::returned::{CONTENT, DETAILS, EXTRA, PLAIN};
use crate::chunk::{ProviderTurn, ToolCall};
use crate::dialect::Unsendable;
use crate::request::{Image, Message};

#[derive(Default, Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    /// Absent text is `null`: servers on Bedrock refuse empty text.
    content: Option<WireContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    Text(&'a str),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart<'a> {
    ImageUrl { image_url: WireUrl<'a> },
    Text { text: &'a str },
}

#[derive(Serialize)]
struct WireUrl<'a> {
    url: Cow<'a, str>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: WireFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// What stands for no arguments: servers parse the field and refuse the empty text.
const NO_ARGUMENTS: &str = "{}";

/// The conversation, oldest first.
///
/// # Errors
/// [`Unsendable`] for a tool call without a name and for a result that answers no call.
pub(super) fn messages(messages: &[Message]) -> Result<Vec<WireMessage<'_>>, Unsendable> {
    let mut ids = Ids::default();
    messages.iter().map(|message| wire(message, &mut ids)).collect()
}

fn wire<'a>(message: &'a Message, ids: &mut Ids<'a>) -> Result<WireMessage<'a>, Unsendable> {
    Ok(match message {
        Message::System { content } => said("system", content),
        Message::User { content, images } if images.is_empty() => said("user", content),
        Message::User { content, images } => WireMessage {
            role: "user",
            content: Some(WireContent::Parts(images.iter().map(image).chain(text_part(content)).collect())),
            ..WireMessage::default()
        },
        Message::Assistant { content, tool_calls, turn } => {
            assistant(content.expose_tainted(), tool_calls, turn.as_ref(), ids)?
        }
        Message::Tool { tool_call_id, content, is_error: _ } => WireMessage {
            tool_call_id: Some(ids.answered(tool_call_id.expose_tainted())?),
            ..said("tool", content.expose_tainted())
        },
    })
}

fn said<'a>(role: &'static str, content: &'a str) -> WireMessage<'a> {
    WireMessage { role, content: Some(WireContent::Text(content)), ..WireMessage::default() }
}

fn image(image: &Image) -> WirePart<'_> {
    let url = match image {
        Image::Url(url) => Cow::Borrowed(url.as_str()),
        Image::Data { media_type, base64 } => format!("data:{media_type};base64,{base64}").into(),
    };
    WirePart::ImageUrl { image_url: WireUrl { url } }
}

fn text_part(text: &str) -> Option<WirePart<'_>> {
    (!text.is_empty()).then_some(WirePart::Text { text })
}

fn assistant<'a>(
    content: &'a str,
    calls: &'a [Fenced<ToolCall>],
    turn: Option<&'a Fenced<ProviderTurn>>,
    ids: &mut Ids<'a>,
) -> Result<WireMessage<'a>, Unsendable> {
    let turn = turn.map(Fenced::expose_tainted).filter(|turn| turn.dialect == DIALECT);
    // Only the fields that this dialect puts into a turn, and only in their own form: a turn cannot replace what was said.
    let field = |name| turn.and_then(|turn| turn.content.get(name));
    let extras = field("tool_calls").and_then(Value::as_array).filter(|extras| extras.len() == calls.len());
    ids.begin_turn();
    let calls = calls.iter().map(Fenced::expose_tainted).enumerate().map(|(position, call)| {
        let arguments =
            if call.arguments.trim_ascii().is_empty() { NO_ARGUMENTS } else { call.arguments.as_str() };
        let name = call.name.as_deref().filter(|name| !name.is_empty()).ok_or(Unsendable)?;
        Ok(WireCall {
            id: ids.called(call.id.as_deref()),
            r#type: "function",
            function: WireFunction { name, arguments },
            extra_content: extras.and_then(|extras| extras.get(position)?.get(EXTRA)),
        })
    });
    let tool_calls: Vec<_> = calls.collect::<Result<_, Unsendable>>()?;
    let silent = content.is_empty() && !tool_calls.is_empty();
    Ok(WireMessage {
        role: "assistant",
        content: (!silent).then_some(WireContent::Text(content)),
        tool_calls,
        tool_call_id: None,
        reasoning_content: field(CONTENT).filter(|field| field.is_string()),
        reasoning: field(PLAIN).filter(|field| field.is_string()),
        reasoning_details: field(DETAILS).filter(|field| field.is_array()),
    })
}

/// The ids of the calls that wait for their results. The dialect cannot do without: a call that came without one, or
/// with that of another call of its turn, is given one, of nine letters and digits, as Mistral asks for.
#[derive(Default)]
struct Ids<'a> {
    given: u32,
    /// Of each call that waits: the id that it came with, and that which is sent.
    waiting: VecDeque<(&'a str, Cow<'a, str>)>,
}

impl<'a> Ids<'a> {
    fn begin_turn(&mut self) {
        self.waiting.clear();
    }

    fn called(&mut self, id: Option<&'a str>) -> Cow<'a, str> {
        let own = id.unwrap_or_default();
        let is_free = !own.is_empty() && self.waiting.iter().all(|(_, sent)| sent != own);
        let sent = if is_free {
            Cow::Borrowed(own)
        } else {
            self.given = self.given.saturating_add(1);
            format!("call{:05}", self.given).into()
        };
        self.waiting.push_back((own, sent.clone()));
        sent
    }

    /// The id that answers the call which a result names, else the first call without a result.
    fn answered(&mut self, id: &str) -> Result<Cow<'a, str>, Unsendable> {
        let names = |(own, _): &(&str, _)| id.is_empty() || *own == id;
        let at = self.waiting.iter().position(names).ok_or(Unsendable)?;
        self.waiting.remove(at).map(|(_, sent)| sent).ok_or(Unsendable)
    }
}
