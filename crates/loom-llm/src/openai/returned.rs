//! What a provider wants back with the results of the tools it asked for.

use serde_json::{Map, Value};

use super::DIALECT;
use crate::chunk::ProviderTurn;
use crate::dialect::{Fault, KeptValues};

/// The fields of an assistant message that carry reasoning; they go back as they came.
pub(super) const CONTENT: &str = "reasoning_content";
pub(super) const PLAIN: &str = "reasoning";
pub(super) const DETAILS: &str = "reasoning_details";
/// The field of a tool call that goes back as it came.
pub(super) const EXTRA: &str = "extra_content";

/// How many of the last reasoning blocks a further piece may belong to; older ones are closed.
const OPEN_DETAILS_MAX: usize = 64;

/// Collects it for choice 0.
#[derive(Debug, Default)]
pub(super) struct Returned {
    content: Option<String>,
    plain: Option<String>,
    details: Vec<Value>,
    /// By the call's position.
    extras: Vec<Value>,
    kept: KeptValues,
}

impl Returned {
    /// Takes the reasoning of one piece. An empty `reasoning_content` counts, as DeepSeek asks for the field wherever
    /// it has sent it.
    pub(super) fn reasoning(&mut self, content: Option<&str>, plain: Option<&str>) {
        append(&mut self.content, content);
        append(&mut self.plain, plain.filter(|text| !text.is_empty()));
    }

    /// Takes the reasoning blocks of one piece.
    pub(super) fn details(&mut self, details: Vec<Value>) -> Result<(), Fault> {
        details.into_iter().try_for_each(|piece| self.detail(piece))
    }

    /// Takes what belongs to the call at that position.
    pub(super) fn extra(&mut self, position: usize, extra: Value) -> Result<(), Fault> {
        self.kept.keep_value(&extra)?;
        if self.extras.len() <= position {
            self.extras.resize(position + 1, Value::Null);
        }
        if let Some(slot) = self.extras.get_mut(position) {
            *slot = extra;
        }
        Ok(())
    }

    /// The turn, where the reply calls tools and has something that is wanted back.
    pub(super) fn turn(&mut self, calls: usize) -> Option<ProviderTurn> {
        let Self { content, plain, details, mut extras, .. } = std::mem::take(self);
        let mut fields = Map::new();
        fields.extend(content.map(|text| (CONTENT.to_owned(), text.into())));
        fields.extend(plain.map(|text| (PLAIN.to_owned(), text.into())));
        if !details.is_empty() {
            fields.insert(DETAILS.to_owned(), details.into());
        }
        if !extras.is_empty() {
            extras.resize(calls, Value::Null);
            let extras = extras.into_iter().map(|extra| {
                let held = (!extra.is_null()).then(|| (EXTRA.to_owned(), extra));
                Value::Object(held.into_iter().collect())
            });
            fields.insert("tool_calls".to_owned(), extras.collect());
        }
        (calls > 0 && !fields.is_empty()).then(|| ProviderTurn::new(DIALECT, fields.into()))
    }

    /// A piece of a block continues the block of its index and type, unless both have ids and these differ: a signature
    /// that was torn off its text is refused.
    fn detail(&mut self, piece: Value) -> Result<(), Fault> {
        let key = |value: &Value| Some((value.get("index")?.clone(), value.get("type").cloned()));
        let id = |value: &Value| value.get("id").filter(|id| !id.is_null()).cloned();
        let differ = |block: &Value| id(block).zip(id(&piece)).is_some_and(|(own, other)| own != other);
        let block = key(&piece).and_then(|wanted| {
            let mut open = self.details.iter_mut().rev().take(OPEN_DETAILS_MAX);
            open.find(|block| key(block).as_ref() == Some(&wanted) && !differ(block))
        });
        match (block, piece) {
            (Some(Value::Object(block)), Value::Object(piece)) => {
                for (name, value) in piece {
                    merge(block, name, value, &mut self.kept)?;
                }
            }
            (_, piece) => {
                self.kept.keep_value(&piece)?;
                self.details.push(piece);
            }
        }
        Ok(())
    }
}

/// The text of reasoning blocks, as far as it can be read.
pub(super) fn readable(details: &[Value]) -> String {
    let text = |block: &Value| {
        let field = ["text", "summary"].iter().find_map(|name| block.get(name)?.as_str());
        field.unwrap_or_default().to_owned()
    };
    details.iter().map(text).collect()
}

fn append(whole: &mut Option<String>, piece: Option<&str>) {
    if let Some(piece) = piece {
        whole.get_or_insert_default().push_str(piece);
    }
}

/// What text adds to text is bounded with the body; anything else is new to the block.
fn merge(
    block: &mut Map<String, Value>,
    name: String,
    value: Value,
    kept: &mut KeptValues,
) -> Result<(), Fault> {
    let grows = matches!(name.as_str(), "text" | "summary" | "data");
    match (block.get_mut(&name), value) {
        (Some(Value::String(whole)), Value::String(piece)) if grows => whole.push_str(&piece),
        (Some(_), Value::Null) => {}
        (Some(own), value) if *own == value => {}
        (_, value) => {
            kept.keep_value(&value)?;
            block.insert(name, value);
        }
    }
    Ok(())
}
