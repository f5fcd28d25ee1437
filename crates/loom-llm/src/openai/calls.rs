//! Which tool call a part of one belongs to.

use crate::chunk::TOOL_CALLS_MAX;
use crate::dialect::Fault;
use crate::error::MalformedReply;

/// The tool calls of one reply, in order of their first part.
///
/// A part belongs to the call with its `index`, else to the call with its `id`, else it opens a call where it names a
/// tool and continues the latest call where it does not. Providers bend two of these keys: some give every call the
/// index 0 (Ollama, Gemini behind gateways, lmdeploy), some change the id from part to part (Poolside). So a part with
/// a known index begins another call only if it names a tool and brings an id, or where ids are missing a name, that
/// is not the known call's.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    choice: u32,
    position: usize,
    index: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    legacy: bool,
}

/// What a part says of the call that it belongs to.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    /// It came as `function_call`, of which a choice has one.
    pub(super) legacy: bool,
}

/// The call that a part belongs to, and what the part was the first to tell of it.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) position: usize,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
}

impl Calls {
    /// Places a part, opening a call where it belongs to none that is known.
    pub(super) fn place(&mut self, choice: u32, part: Identity) -> Result<Placed, Fault> {
        if let Some(call) = self.known(choice, &part) {
            call.index = call.index.or(part.index);
            let (id, name) = (told(&mut call.id, part.id), told(&mut call.name, part.name));
            return Ok(Placed { position: call.position, id, name });
        }
        if self.open.len() >= TOOL_CALLS_MAX {
            return Err(Fault::Malformed(MalformedReply::TooManyToolCalls));
        }
        let position = self.count(choice);
        let Identity { index, id, name, legacy } = part;
        self.open.push(Call { choice, position, index, id: id.clone(), name: name.clone(), legacy });
        Ok(Placed { position, id, name })
    }

    /// How many calls the choice has opened.
    pub(super) fn count(&self, choice: u32) -> usize {
        self.open.iter().filter(|call| call.choice == choice).count()
    }

    fn known(&mut self, choice: u32, part: &Identity) -> Option<&mut Call> {
        let mut own = self.open.iter_mut().filter(|call| call.choice == choice && call.legacy == part.legacy);
        match (part.index, &part.id) {
            _ if part.legacy => own.next(),
            (Some(index), Some(id)) => {
                let of_index = |call: &&mut Call| call.index == Some(index) || call.index.is_none();
                let mut own: Vec<_> = own.filter(of_index).collect();
                let same = own.iter().position(|call| call.id.as_ref() == Some(id));
                let at = same.or_else(|| own.iter().rposition(|call| call.index == Some(index)))?;
                Some(own.swap_remove(at)).filter(|call| !call.ended_by(part))
            }
            (Some(index), None) => {
                own.rfind(|call| call.index == Some(index)).filter(|call| !call.ended_by(part))
            }
            (None, Some(id)) => own.find(|call| call.id.as_ref() == Some(id)),
            (None, None) if part.name.is_some() => None,
            (None, None) => own.next_back(),
        }
    }
}

impl Call {
    /// Whether the part, which has this call's index, is the first of another call.
    fn ended_by(&self, part: &Identity) -> bool {
        let differ = |own: &Option<String>, other: &Option<String>| {
            own.as_ref().zip(other.as_ref()).map(|(own, other)| own != other)
        };
        part.name.is_some()
            && differ(&self.id, &part.id).or_else(|| differ(&self.name, &part.name)).unwrap_or(false)
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
