//! Which tool call a part of one belongs to.

use super::extent::Extent;
use crate::chunk::TOOL_CALLS_MAX;
use crate::dialect::Fault;
use crate::error::MalformedReply;

/// The tool calls of one reply, in order of their first part.
///
/// A part belongs to the call with its `index`, else to the call with its `id`, else it opens a call where it names a
/// tool and continues the latest call where it does not. Providers bend two of these keys: some give every call the
/// index 0 (Ollama, Gemini behind gateways, lmdeploy), some change the id from part to part (Poolside). So a part that
/// has a key of a known call still begins another one if it names a tool and is no part of that call:
/// [`Call::ended_by`].
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Call>,
    /// Counts the lists that parts stand in.
    lists: u64,
}

#[derive(Debug)]
struct Call {
    choice: u32,
    position: usize,
    index: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    legacy: bool,
    /// The list of its latest part.
    list: u64,
    arguments: Extent,
}

/// A part of a call.
#[derive(Debug)]
pub(super) struct CallPart<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: &'a str,
    pub(super) form: Form,
}

/// The form that a part comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An element of a list, which may be a piece of a call.
    Piece,
    /// An element of the list in a reply in one piece, where each is a call.
    Whole,
    /// `function_call`, of which a choice has one.
    Legacy,
}

/// The call that a part belongs to, and what the part was the first to tell of it.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) position: usize,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
}

impl Calls {
    /// Notes that a list of parts begins.
    pub(super) fn begin_list(&mut self) {
        self.lists += 1;
    }

    /// Places a part, opening a call where it belongs to none that is known. A part that says nothing opens none.
    pub(super) fn place(&mut self, choice: u32, part: CallPart<'_>) -> Result<Option<Placed>, Fault> {
        let list = self.lists;
        if let Some(call) = self.known(choice, &part) {
            call.index = call.index.or(part.index);
            call.list = list;
            call.arguments.add(part.arguments);
            let (id, name) = (told(&mut call.id, part.id), told(&mut call.name, part.name));
            return Ok(Some(Placed { position: call.position, id, name }));
        }
        let CallPart { index, id, name, arguments, form } = part;
        if id.is_none() && name.is_none() && arguments.is_empty() {
            return Ok(None);
        }
        if self.open.len() >= TOOL_CALLS_MAX {
            return Err(Fault::Malformed(MalformedReply::TooManyToolCalls));
        }
        let position = self.count(choice);
        let placed = Placed { position, id: id.clone(), name: name.clone() };
        let (legacy, arguments) = (form == Form::Legacy, Extent::of(arguments));
        self.open.push(Call { choice, position, index, id, name, legacy, list, arguments });
        Ok(Some(placed))
    }

    /// How many calls the choice has opened.
    pub(super) fn count(&self, choice: u32) -> usize {
        self.open.iter().filter(|call| call.choice == choice).count()
    }

    fn known(&mut self, choice: u32, part: &CallPart<'_>) -> Option<&mut Call> {
        let (list, legacy) = (self.lists, part.form == Form::Legacy);
        let mut own = self.open.iter_mut().filter(|call| call.choice == choice && call.legacy == legacy);
        let known = match (part.index, &part.id) {
            _ if legacy => return own.next(),
            _ if part.form == Form::Whole => None,
            (Some(index), Some(id)) => {
                let of_index = |call: &&mut Call| call.index == Some(index) || call.index.is_none();
                let mut own: Vec<_> = own.filter(of_index).collect();
                let same = own.iter().rposition(|call| call.id.as_ref() == Some(id));
                let at = same.or_else(|| own.iter().rposition(|call| call.index == Some(index)))?;
                Some(own.swap_remove(at))
            }
            (Some(index), None) => own.rfind(|call| call.index == Some(index)),
            (None, Some(id)) => own.rfind(|call| call.id.as_ref() == Some(id)),
            (None, None) if part.name.is_some() => None,
            (None, None) => own.next_back(),
        };
        known.filter(|call| !call.ended_by(part, list))
    }
}

impl Call {
    /// Whether the part, which has a key of this call, is the first of another one. It names a tool, and
    /// - its name or its id is not this call's; or
    /// - it has no id to repeat, and stands in one list with a part of this call, or adds arguments to whole ones.
    ///
    /// A part that repeats the id stays with the call, even where its arguments repeat too: a call that a server told
    /// twice must not run twice.
    fn ended_by(&self, part: &CallPart<'_>, list: u64) -> bool {
        let differ = |own: &Option<String>, other: &Option<String>| {
            own.as_ref().zip(other.as_ref()).is_some_and(|(own, other)| own != other)
        };
        let beside = self.list == list && self.id.is_none();
        let after = self.arguments.is_whole() && !part.arguments.trim().is_empty();
        part.name.is_some()
            && (differ(&self.id, &part.id)
                || differ(&self.name, &part.name)
                || (part.id.is_none() && (beside || after)))
    }
}

/// Keeps what is told for the first time, and passes it on then.
fn told(slot: &mut Option<String>, told: Option<String>) -> Option<String> {
    if slot.is_none() {
        slot.clone_from(&told);
        return told;
    }
    None
}
