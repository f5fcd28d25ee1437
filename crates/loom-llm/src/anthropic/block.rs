//! One content block of a message: what it has said so far, and how it is sent back.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::wire::{Delta, ToolInput};
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
    /// The input that it began with, as it was written.
    input: Option<String>,
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
}

impl Block {
    /// The block that begins so, its calls counted by `next_call`.
    pub(super) fn begun(
        block: &RawValue,
        next_call: impl FnOnce() -> Result<usize, Fault>,
    ) -> Result<Option<Self>, Fault> {
        let Some(mut fields) = object::<Map<String, Value>>(Some(block))? else { return Ok(None) };
        let written = object::<ToolInput<'_>>(Some(block))?.unwrap_or_default().input;
        let (kind, grown, input) = match fields.get("type").and_then(Value::as_str) {
            Some("text") => (Kind::Text, taken(&mut fields, "text"), None),
            Some("thinking") => (Kind::Thinking, taken(&mut fields, "thinking"), None),
            Some("tool_use") => {
                fields.remove("input");
                let input = written.map(arguments).transpose()?.flatten();
                (Kind::Call { position: next_call()? }, String::new(), input)
            }
            _ => {
                let input = written.map(RawValue::get).filter(|raw| raw.starts_with('{')).map(str::to_owned);
                if input.is_some() {
                    fields.remove("input");
                }
                (Kind::Opaque, String::new(), input)
            }
        };
        Ok(Some(Self { kind, fields, grown, input }))
    }

    /// A block of text or thinking whose beginning never came.
    pub(super) fn unannounced(kind: Kind) -> Self {
        let name = if kind == Kind::Thinking { "thinking" } else { "text" };
        let fields = Map::from_iter([("type".to_owned(), Value::from(name))]);
        Self { kind, fields, grown: String::new(), input: None }
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
            Kind::Opaque => {}
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
        self.input = None;
        self.grown.push_str(&arguments);
        out.push_back(LlmChunk::ToolArguments { choice: 0, call, id: None, name: None, arguments });
        Ok(())
    }

    /// Ends it: a call whose arguments came with its beginning says them now.
    pub(super) fn close(&mut self, out: &mut Chunks) {
        if let Kind::Call { .. } = self.kind
            && let Some(input) = self.input.take()
        {
            // The kind has just been seen, so there is no fault.
            let _ = self.say_arguments(input, out);
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
            Kind::Thinking | Kind::Opaque => true,
            Kind::Call { .. } => {
                self.fields.keys().any(|name| !matches!(name.as_str(), "type" | "id" | "name"))
            }
        }
    }

    /// The block as it is sent back. The input of a tool stays the text that came.
    pub(super) fn into_value(self) -> Value {
        let Self { kind, mut fields, grown, input } = self;
        let mut set = |name: &str, text: String| fields.insert(name.to_owned(), Value::String(text));
        match kind {
            Kind::Text => drop(set("text", grown)),
            Kind::Thinking => drop(set("thinking", grown)),
            Kind::Call { .. } => drop(set("input", grown)),
            Kind::Opaque => {
                if let Some(input) = Some(grown).filter(|grown| !grown.is_empty()).or(input) {
                    set("input", input);
                }
            }
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

/// The arguments that a call began with, verbatim; none where the object is empty, which is how the dialect says that
/// they are still to come or that there are none.
fn arguments(input: &RawValue) -> Result<Option<String>, Fault> {
    let raw = input.get();
    let inner = raw.strip_prefix('{').and_then(|raw| raw.strip_suffix('}'));
    match inner {
        Some(inner) => Ok((!inner.trim().is_empty()).then(|| raw.to_owned())),
        None if raw == "\"\"" => Ok(None),
        None => Err(NOT_THE_DIALECT),
    }
}

fn taken(fields: &mut Map<String, Value>, name: &str) -> String {
    match fields.remove(name) {
        Some(Value::String(text)) => text,
        _ => String::new(),
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
