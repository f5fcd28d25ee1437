//! The parts of choice 0 as they came, for the provider that wants them back.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::DIALECT;
use super::wire::fields;
use crate::chunk::ProviderTurn;
use crate::dialect::{Fault, Field, KeptValues, read};

/// The field of a part that is a call, and that of its arguments.
pub(super) const CALL: &str = "functionCall";
pub(super) const ARGUMENTS: &str = "args";

/// Fields of a call that only tell how its arguments come.
const STREAMING: [&str; 3] = [ARGUMENTS, "partialArgs", "willContinue"];

/// Collects the parts in their order.
#[derive(Debug, Default)]
pub(super) struct Turn {
    parts: Vec<Part>,
    /// By their position.
    calls: Vec<Call>,
    /// Some part is more than its text or its call.
    needed: bool,
    kept: KeptValues,
}

#[derive(Debug)]
enum Part {
    Text { text: String, thought: bool },
    Call { position: usize },
    Other(Map<String, Value>),
}

#[derive(Debug, Default)]
struct Call {
    /// What stands in the call itself.
    call: Map<String, Value>,
    /// What stands beside it.
    beside: Map<String, Value>,
}

impl Turn {
    /// Takes text that came with nothing else.
    pub(super) fn say(&mut self, piece: &str, is_thought: bool) {
        match self.parts.last_mut() {
            _ if piece.is_empty() => {}
            Some(Part::Text { text, thought }) if *thought == is_thought => text.push_str(piece),
            _ => self.parts.push(Part::Text { text: piece.to_owned(), thought: is_thought }),
        }
    }

    /// Takes a part that is no call.
    pub(super) fn keep(&mut self, part: Field<'_>) -> Result<(), Fault> {
        self.needed = true;
        self.kept.keep(part)?;
        self.parts.push(Part::Other(owned(fields(part)?)?));
        Ok(())
    }

    /// Takes a piece of the call at that position. Its arguments are told at its end.
    pub(super) fn call(&mut self, position: usize, part: Field<'_>) -> Result<(), Fault> {
        let mut beside = fields(part)?;
        let mut call = fields(beside.remove(CALL))?;
        call.retain(|name, _| !STREAMING.contains(&name.as_str()));
        // Streamed arguments come in a great many pieces that leave nothing here.
        if !beside.is_empty() || call.keys().any(|name| !matches!(name.as_str(), "id" | "name")) {
            self.needed = true;
            call.values().chain(beside.values()).try_for_each(|raw| self.kept.keep(Some(raw)))?;
        }
        let (call, beside) = (owned(call)?, owned(beside)?);
        if let Some(kept) = self.placed(position) {
            add(&mut kept.call, call);
            add(&mut kept.beside, beside);
        }
        Ok(())
    }

    /// Keeps the arguments of the call at that position.
    pub(super) fn end_call(&mut self, position: usize, arguments: String) {
        if let Some(kept) = self.placed(position) {
            kept.call.insert(ARGUMENTS.to_owned(), arguments.into());
        }
    }

    /// The turn, where text and calls could not rebuild it.
    pub(super) fn take(&mut self) -> Option<ProviderTurn> {
        let Self { parts, mut calls, needed, .. } = std::mem::take(self);
        let parts = parts.into_iter().map(|part| match part {
            Part::Text { text, thought } => {
                let thought = thought.then(|| ("thought".to_owned(), Value::Bool(true)));
                Value::Object([("text".to_owned(), text.into())].into_iter().chain(thought).collect())
            }
            Part::Call { position } => {
                let Call { call, mut beside } =
                    calls.get_mut(position).map(std::mem::take).unwrap_or_default();
                beside.insert(CALL.to_owned(), call.into());
                beside.into()
            }
            Part::Other(fields) => fields.into(),
        });
        needed.then(|| ProviderTurn::new(DIALECT, parts.collect()))
    }

    fn placed(&mut self, position: usize) -> Option<&mut Call> {
        while self.calls.len() <= position {
            self.parts.push(Part::Call { position: self.calls.len() });
            self.calls.push(Call::default());
        }
        self.calls.get_mut(position)
    }
}

/// What a further piece of a call repeats does not replace what the first said.
fn add(kept: &mut Map<String, Value>, further: Map<String, Value>) {
    for (name, value) in further {
        kept.entry(name).or_insert(value);
    }
}

fn owned(fields: BTreeMap<String, &RawValue>) -> Result<Map<String, Value>, Fault> {
    fields.into_iter().map(|(name, raw)| Ok((name, read(raw)?))).collect()
}
