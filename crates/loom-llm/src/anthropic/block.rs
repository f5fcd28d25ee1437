//! One content block of a message: what it has said so far, and how it is sent back.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::input::Input;
use super::wire::{BlockHead, Delta};
use crate::chunk::LlmChunk;
use crate::dialect::{Chunks, Fault, Field, NOT_THE_DIALECT, filled, object, text};

/// A block as it is put together from its parts.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// What it began with, without what grows and without the input of a tool.
    fields: Map<String, Value>,
    /// What its parts add up to: text, thinking, or the input of a tool.
    grown: String,
    input: Input,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Reasoning, which the provider wants back unaltered.
    Thinking,
    /// A call for the caller to run, by its position among the calls.
    Call {
        position: usize,
    },
    /// What the provider ran or decided itself: kept for the turn, and no part of the reply. As a tool call it would
    /// be run a second time.
    Opaque,
    /// Its beginning did not tell; the first part will.
    Unsettled,
}

impl Block {
    /// The block that begins so, its calls counted by `next_call`. Without a type it is what its fields tell.
    pub(super) fn begun(
        block: Field<'_>,
        next_call: impl FnOnce() -> Result<usize, Fault>,
    ) -> Result<Self, Fault> {
        let mut fields = object::<Map<String, Value>>(block)?.unwrap_or_default();
        let head = object::<BlockHead<'_>>(block)?.unwrap_or_default();
        let (begun_text, begun_thinking) = (text(head.text)?, text(head.thinking)?);
        let (id, name) = (text(head.id)?, text(head.name)?);
        let mut input = Input::of(head.input)?;
        let kind = head.kind().or_else(|| {
            let texts = [&begun_thinking, &name, &begun_text].map(Option::as_deref);
            told_by(texts, head.input.map(|_| &input)).map(Cow::Borrowed)
        });
        // Of a field that comes twice the map has the last value even where it is `null`.
        let told = [("type", kind.as_deref()), ("id", id.as_deref()), ("name", name.as_deref())];
        for (field, value) in told {
            fields.extend(value.map(|value| (field.to_owned(), Value::from(value))));
        }
        if head.kind().is_none() {
            // Fields of the other kinds, which the API would refuse in this one.
            fields.retain(|_, value| !says_nothing(value));
        }
        let mut take = |field: &str, begun: Option<String>| {
            fields.remove(field);
            begun.unwrap_or_default()
        };
        let (kind, grown) = match kind.as_deref() {
            Some("text") => (Kind::Text, take("text", begun_text)),
            Some("thinking") => (Kind::Thinking, take("thinking", begun_thinking)),
            Some("tool_use") => (Kind::Call { position: next_call()? }, take("input", None)),
            Some(_) => {
                let written = head.input.map(RawValue::get).filter(|raw| raw.starts_with('{'));
                input = written.map_or(Input::Nothing, |raw| Input::Written(raw.to_owned()));
                (Kind::Opaque, String::new())
            }
            None => (Kind::Unsettled, String::new()),
        };
        Ok(Self { kind, fields, grown, input })
    }

    /// A block of text or thinking whose beginning never came.
    pub(super) fn unannounced(kind: Kind) -> Self {
        let name = if kind == Kind::Thinking { "thinking" } else { "text" };
        let fields = Map::from_iter([("type".to_owned(), Value::from(name))]);
        Self { kind, fields, grown: String::new(), input: Input::Nothing }
    }

    /// Settles what the block is by a part that is to be added, where its beginning did not tell. Arguments settle
    /// nothing: of what has no name no call could be made.
    pub(super) fn settle(&mut self, delta_kind: &str) {
        if self.kind != Kind::Unsettled {
            return;
        }
        let (kind, name) = match delta_kind {
            "text_delta" | "citations_delta" => (Kind::Text, "text"),
            "thinking_delta" | "signature_delta" => (Kind::Thinking, "thinking"),
            "input_json_delta" | "" => return,
            _ => {
                self.kind = Kind::Opaque;
                return;
            }
        };
        self.kind = kind;
        self.fields.insert("type".to_owned(), Value::from(name));
    }

    /// Passes on what it began with.
    pub(super) fn say_beginning(&self, out: &mut Chunks) {
        match self.kind {
            Kind::Text => say_text(self.grown.clone(), out),
            Kind::Thinking => say_thinking(self.grown.clone(), out),
            Kind::Call { position: call } => {
                let told = |name| filled(self.fields.get(name).and_then(Value::as_str).map(str::to_owned));
                let (id, name) = (told("id"), told("name"));
                let arguments = String::new();
                out.push_back(LlmChunk::ToolArguments { choice: 0, call, id, name, arguments });
            }
            Kind::Opaque | Kind::Unsettled => {}
        }
    }

    /// Adds text or thinking and passes it on.
    pub(super) fn say(&mut self, piece: String, out: &mut Chunks) {
        self.grown.push_str(&piece);
        match self.kind {
            Kind::Thinking => say_thinking(piece, out),
            _ => say_text(piece, out),
        }
    }

    /// Adds arguments and passes them on; of a block that takes none they are a fault. No call could be made of them,
    /// and none may go unnoticed.
    pub(super) fn say_arguments(&mut self, arguments: String, out: &mut Chunks) -> Result<(), Fault> {
        let Kind::Call { position: call } = self.kind else { return Err(NOT_THE_DIALECT) };
        // Where arguments are streamed, what the block began with is a placeholder.
        self.input = Input::Nothing;
        self.grown.push_str(&arguments);
        out.push_back(LlmChunk::ToolArguments { choice: 0, call, id: None, name: None, arguments });
        Ok(())
    }

    /// Ends it: a call whose arguments came with its beginning says them now.
    pub(super) fn close(&mut self, out: &mut Chunks) -> Result<(), Fault> {
        if !matches!(self.kind, Kind::Call { .. }) {
            return Ok(());
        }
        match std::mem::take(&mut self.input) {
            Input::Nothing => Ok(()),
            Input::Written(input) => self.say_arguments(input, out),
            Input::Unreadable => Err(NOT_THE_DIALECT),
        }
    }

    pub(super) fn sign(&mut self, signature: String) {
        self.fields.insert("signature".to_owned(), Value::String(signature));
    }

    /// Keeps a source of the text, which is no chunk.
    pub(super) fn cite(&mut self, citation: Field<'_>) -> Result<(), Fault> {
        if let Some(citation) = object::<Map<String, Value>>(citation)? {
            let citations = self.fields.entry("citations").or_insert(Value::Null);
            match citations {
                Value::Array(citations) => citations.push(Value::Object(citation)),
                other => *other = Value::Array(vec![Value::Object(citation)]),
            }
        }
        Ok(())
    }

    /// Adds a part to a block that is not read: text to text, anything else in the place of what there was.
    pub(super) fn merge(&mut self, kind: &str, delta: &Delta<'_>, raw: Field<'_>) -> Result<(), Fault> {
        match kind {
            "input_json_delta" => self.grown.push_str(&partial_json(delta)?),
            "citations_delta" => self.cite(delta.citation)?,
            _ => {
                for (name, added) in object::<Map<String, Value>>(raw)?.unwrap_or_default() {
                    match (self.fields.get_mut(&name), added) {
                        _ if name == "type" => {}
                        (Some(Value::String(whole)), Value::String(added)) => whole.push_str(&added),
                        (_, added) => {
                            self.fields.insert(name, added);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether it has parts that text and tool calls do not have.
    pub(super) fn is_more_than_its_chunks(&self) -> bool {
        match self.kind {
            Kind::Text => false,
            Kind::Thinking | Kind::Opaque | Kind::Unsettled => true,
            Kind::Call { .. } => {
                self.fields.keys().any(|name| !matches!(name.as_str(), "type" | "id" | "name"))
            }
        }
    }

    /// Whether it said nothing at all, not even what it is.
    pub(super) fn is_blank(&self) -> bool {
        self.kind == Kind::Unsettled && self.fields.is_empty()
    }

    /// The block as it is sent back. The input of a tool stays the text that came.
    pub(super) fn into_value(self) -> Value {
        let Self { kind, mut fields, grown, input } = self;
        let mut set = |name: &str, text: String| fields.insert(name.to_owned(), Value::String(text));
        match kind {
            Kind::Text => drop(set("text", grown)),
            Kind::Thinking => drop(set("thinking", grown)),
            Kind::Call { .. } => drop(set("input", grown)),
            Kind::Opaque => match input {
                _ if !grown.is_empty() => drop(set("input", grown)),
                Input::Written(input) => drop(set("input", input)),
                Input::Nothing | Input::Unreadable => {}
            },
            Kind::Unsettled => {}
        }
        Value::Object(fields)
    }
}

/// The arguments in a part of a tool's input; those of another type than text are a fault, never an absence.
pub(super) fn partial_json(delta: &Delta<'_>) -> Result<String, Fault> {
    match (text(delta.partial_json)?, delta.partial_json) {
        (None, Some(_)) => Err(NOT_THE_DIALECT),
        (piece, _) => Ok(piece.unwrap_or_default()),
    }
}

/// The type that the fields of a block tell, which are thinking, the name of a tool, text and the input of a tool. Of
/// several those that say something tell it, as some servers write every field that there is.
fn told_by(texts: [Option<&str>; 3], input: Option<&Input>) -> Option<&'static str> {
    let [thinking, name, text] = texts.map(|text| text.is_some_and(|text| !text.is_empty()));
    if thinking {
        return Some("thinking");
    }
    if name || input.is_some_and(|input| !input.is_nothing()) {
        return Some("tool_use");
    }
    if text {
        return Some("text");
    }
    match (texts, input) {
        ([Some(_), _, None], None) => Some("thinking"),
        ([None, _, None], Some(_)) => Some("tool_use"),
        ([None, _, Some(_)], None) => Some("text"),
        _ => None,
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn say_text(text: String, out: &mut Chunks) {
    if !text.is_empty() {
        out.push_back(LlmChunk::Text { choice: 0, text });
    }
}

fn say_thinking(text: String, out: &mut Chunks) {
    if !text.is_empty() {
        out.push_back(LlmChunk::Reasoning { choice: 0, text });
    }
}
