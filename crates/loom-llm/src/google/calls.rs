//! The tool calls of one reply: which call a piece belongs to, and what its arguments are once it has ended.

use serde_json::value::RawValue;

use super::arguments::{Arguments, ValuesLeft};
use super::wire::{FunctionCall, PartialArg};
use crate::chunk::{LlmChunk, TOOL_CALLS_MAX};
use crate::dialect::{Chunks, Fault, Field, NOT_THE_DIALECT, filled, list, text};
use crate::error::MalformedReply;

/// The tool calls of a reply, in order of their first piece.
///
/// A piece belongs to the open call with its id. Without one it opens a call where it names a tool, and continues the
/// latest open call where it does not, or where it repeats the name beside pieces of arguments.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The choice of each call that has begun.
    begun: Vec<u32>,
    open: Vec<Open>,
    values_left: ValuesLeft,
}

/// A call that has not ended.
#[derive(Debug)]
struct Open {
    choice: u32,
    position: usize,
    id: Option<String>,
    name: Option<String>,
    /// Arguments that came as an object, as it was written.
    written: Option<String>,
    streamed: Arguments,
    /// The reply has ended by itself, so that the call has too.
    stopped: bool,
}

/// The call that a piece belongs to.
#[derive(Debug)]
pub(super) struct Taken {
    /// The call's position among those of its choice.
    pub(super) position: usize,
    /// The arguments, where the piece is the last one and there are any.
    pub(super) arguments: Option<String>,
}

impl Calls {
    /// Takes a piece and passes on what it says. A piece that says nothing and belongs to no call is none.
    pub(super) fn take(
        &mut self,
        choice: u32,
        piece: &FunctionCall<'_>,
        out: &mut Chunks,
    ) -> Result<Option<Taken>, Fault> {
        let (id, name) = (filled(text(piece.id)?), filled(text(piece.name)?));
        let written = written(piece.args)?;
        let values = values(piece.partial_args)?;
        let known = self.known(choice, id.as_deref(), name.as_deref(), !values.is_empty());
        if known.is_none() && id.is_none() && name.is_none() && written.is_none() && values.is_empty() {
            return Ok(None);
        }
        let first = known.is_none();
        let mut call = match known {
            Some(at) => self.open.remove(at),
            None => self.begin(choice)?,
        };
        call.take_written(written)?;
        for value in values {
            call.streamed.add(&PartialArg::of(value)?, &mut self.values_left)?;
        }
        call.has_one_form()?;
        let (id, name) = (told(&mut call.id, id), told(&mut call.name, name));
        let position = call.position;
        let arguments = if piece.will_continue() {
            self.open.push(call);
            None
        } else {
            call.into_arguments(true)?
        };
        if first || id.is_some() || name.is_some() || arguments.is_some() {
            let arguments = arguments.clone().unwrap_or_default();
            out.push_back(LlmChunk::ToolArguments { choice, call: position, id, name, arguments });
        }
        Ok(Some(Taken { position, arguments }))
    }

    /// Notes that the choice has ended by itself: an open call of it has only lost its last piece.
    pub(super) fn stop(&mut self, choice: u32) {
        self.open.iter_mut().filter(|call| call.choice == choice).for_each(|call| call.stopped = true);
    }

    /// Ends the calls that were left open and passes on their arguments; tells choice, position and arguments of each.
    pub(super) fn end(&mut self, out: &mut Chunks) -> Result<Vec<(u32, usize, String)>, Fault> {
        let mut ended = Vec::new();
        for open in std::mem::take(&mut self.open) {
            let Open { choice, position, stopped, .. } = open;
            if let Some(arguments) = open.into_arguments(stopped)? {
                ended.push((choice, position, arguments.clone()));
                let (call, id, name) = (position, None, None);
                out.push_back(LlmChunk::ToolArguments { choice, call, id, name, arguments });
            }
        }
        Ok(ended)
    }

    fn known(&self, choice: u32, id: Option<&str>, name: Option<&str>, has_values: bool) -> Option<usize> {
        let latest = |fits: &dyn Fn(&Open) -> bool| {
            self.open.iter().rposition(|call| call.choice == choice && fits(call))
        };
        let same_id = id.and_then(|id| latest(&|call| call.id.as_deref() == Some(id)));
        same_id.or_else(|| {
            let at = latest(&|call| id.is_none() || call.id.is_none())?;
            let repeated = has_values && self.open.get(at)?.name.as_deref() == name;
            (name.is_none() || repeated).then_some(at)
        })
    }

    fn begin(&mut self, choice: u32) -> Result<Open, Fault> {
        if self.begun.len() >= TOOL_CALLS_MAX {
            return Err(Fault::Malformed(MalformedReply::TooManyToolCalls));
        }
        let position = self.begun.iter().filter(|begun| **begun == choice).count();
        self.begun.push(choice);
        let (id, name, written, streamed) = (None, None, None, Arguments::default());
        Ok(Open { choice, position, id, name, written, streamed, stopped: false })
    }
}

impl Open {
    /// Keeps arguments that came as an object; an empty one may be a placeholder for those to come.
    fn take_written(&mut self, written: Option<String>) -> Result<(), Fault> {
        match (&self.written, written) {
            (_, None) => {}
            (Some(own), Some(further)) if !is_empty_object(own) => {
                if !is_empty_object(&further) {
                    return Err(NOT_THE_DIALECT);
                }
            }
            (_, further) => self.written = further,
        }
        Ok(())
    }

    /// Arguments in both forms could be joined in more than one way.
    fn has_one_form(&self) -> Result<(), Fault> {
        let written = self.written.as_deref().is_some_and(|written| !is_empty_object(written));
        if written && !self.streamed.is_empty() { Err(NOT_THE_DIALECT) } else { Ok(()) }
    }

    /// The arguments, where there are any. Where the call did not end they break off; none would look like a call that
    /// takes none.
    fn into_arguments(self, whole: bool) -> Result<Option<String>, Fault> {
        if !self.streamed.is_empty() {
            return self.streamed.into_json(whole).map(Some);
        }
        let mut written = self.written;
        if !whole {
            written = written.or_else(|| Some("{}".to_owned()));
            written.as_mut().map(String::pop);
        }
        Ok(written)
    }
}

/// The arguments as they were written; those of another type are a fault, never an absence.
fn written(args: Field<'_>) -> Result<Option<String>, Fault> {
    match args.map(RawValue::get) {
        Some(raw) if raw.starts_with('{') => Ok(Some(raw.to_owned())),
        Some(_) => Err(NOT_THE_DIALECT),
        None => Ok(None),
    }
}

fn values(partial_args: Field<'_>) -> Result<Vec<&RawValue>, Fault> {
    match partial_args.map(RawValue::get) {
        Some(raw) if !raw.starts_with('[') => Err(NOT_THE_DIALECT),
        _ => list(partial_args),
    }
}

fn is_empty_object(raw: &str) -> bool {
    let inner = raw.strip_prefix('{').and_then(|raw| raw.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

/// Keeps what is told for the first time, and passes it on then.
fn told(slot: &mut Option<String>, told: Option<String>) -> Option<String> {
    if slot.is_none() {
        slot.clone_from(&told);
        return told;
    }
    None
}
