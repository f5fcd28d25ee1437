//! Content: text, or parts of which some are reasoning.

use serde_json::value::RawValue;

use super::wire::Part;
use crate::chunk::LlmChunk;
use crate::dialect::{Chunks, Fault, Field, NOT_THE_DIALECT, filled, list, read, says_nothing, text};

/// The most lists that a part may stand in, one in the other. Servers use two.
const NESTED_MAX: usize = 8;

/// The types of parts that are reasoning.
const THOUGHTS: [&str; 4] = ["thinking", "reasoning", "reasoning_text", "summary_text"];

/// Passes on what the content of a choice says.
pub(super) fn take_content(choice: u32, content: Field<'_>, out: &mut Chunks) -> Result<(), Fault> {
    Reading { choice, out }.content(content, false, NESTED_MAX)
}

struct Reading<'o> {
    choice: u32,
    out: &'o mut Chunks,
}

impl Reading<'_> {
    fn content(&mut self, content: Field<'_>, is_thought: bool, nested: usize) -> Result<(), Fault> {
        let Some(raw) = content.filter(|raw| !says_nothing(raw)) else { return Ok(()) };
        let nested = nested.checked_sub(1).ok_or(NOT_THE_DIALECT)?;
        match raw.get().as_bytes().first() {
            Some(b'"') => self.say(text(content)?, is_thought),
            Some(b'[') => list(content)?
                .into_iter()
                .try_for_each(|part| self.content(Some(part), is_thought, nested))?,
            Some(b'{') => self.part(raw, is_thought, nested)?,
            // Dropped, it would be missing from the answer in silence.
            _ => return Err(NOT_THE_DIALECT),
        }
        Ok(())
    }

    fn part(&mut self, part: &RawValue, is_thought: bool, nested: usize) -> Result<(), Fault> {
        let part: Part<'_> = read(part)?;
        let kind = text(part.kind)?.unwrap_or_default();
        let is_thought = is_thought || THOUGHTS.contains(&kind.as_str());
        self.content(part.thinking, true, nested)?;
        if is_thought {
            self.content(part.summary, true, nested)?;
            self.content(part.content, true, nested)?;
        }
        self.say(text(part.text)?, is_thought);
        let refusal = filled(text(part.refusal)?);
        self.out.extend(refusal.map(|text| LlmChunk::Refusal { choice: self.choice, text }));
        Ok(())
    }

    fn say(&mut self, text: Option<String>, is_thought: bool) {
        let choice = self.choice;
        self.out.extend(filled(text).map(|text| match is_thought {
            true => LlmChunk::Reasoning { choice, text },
            false => LlmChunk::Text { choice, text },
        }));
    }
}
