//! Arguments that are streamed value by value, put together in order of first appearance.

use std::collections::HashMap;

use super::path::{Step, steps};
use super::wire::PartialArg;
use crate::dialect::{Fault, NOT_THE_DIALECT, text};

/// The most steps from the arguments of a call to a streamed value among them; a longer way is a malformed reply.
pub const ARGUMENT_DEPTH_MAX: usize = 64;

/// The most objects, lists and values among all streamed arguments of a reply; a further one is a malformed reply.
pub const ARGUMENT_VALUES_MAX: usize = 1 << 16;

/// The streamed arguments of one call: an object.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    root: Object,
}

/// How many further values a reply may have.
#[derive(Debug)]
pub(super) struct ValuesLeft(usize);

#[derive(Debug)]
enum Node {
    /// Its path has come, its value has not.
    Announced,
    Text {
        text: String,
        open: bool,
    },
    /// A number, a boolean or `null`, as it was written.
    Scalar(String),
    Object(Object),
    List(Vec<Node>),
}

/// Members in order of first appearance.
#[derive(Debug, Default)]
struct Object {
    members: Vec<(String, Node)>,
    places: HashMap<String, usize>,
}

/// What one piece says of its place.
enum Piece {
    Nothing,
    Text(String),
    Scalar(String),
}

impl Default for ValuesLeft {
    fn default() -> Self {
        Self(ARGUMENT_VALUES_MAX)
    }
}

impl Arguments {
    pub(super) fn is_empty(&self) -> bool {
        self.root.members.is_empty()
    }

    /// Adds one piece.
    ///
    /// A piece whose place cannot be read, does not fit the others, or has its whole value already, is a fault: without
    /// it the arguments would be others, and still look whole.
    pub(super) fn add(&mut self, piece: &PartialArg<'_>, left: &mut ValuesLeft) -> Result<(), Fault> {
        let path = text(piece.json_path)?.ok_or(NOT_THE_DIALECT)?;
        let mut way = steps(&path, ARGUMENT_DEPTH_MAX).ok_or(NOT_THE_DIALECT)?.into_iter();
        let Some(Step::Name(first)) = way.next() else { return Err(NOT_THE_DIALECT) };
        let mut node = self.root.member(first, left)?;
        for step in way {
            node = node.child(step, left)?;
        }
        node.add(Piece::of(piece)?, piece.will_continue())
    }

    /// The arguments as JSON. Where more was promised, here or in a value, they break off before their end.
    pub(super) fn into_json(self, whole: bool) -> Result<String, Fault> {
        let whole = whole && !self.root.expects_more();
        let mut json = String::new();
        self.root.write(&mut json)?;
        if !whole {
            json.pop();
        }
        Ok(json)
    }
}

impl Piece {
    /// Exactly one value, or none.
    fn of(piece: &PartialArg<'_>) -> Result<Self, Fault> {
        let said = (piece.string_value, piece.number_value, piece.bool_value, piece.null_value);
        let (fits, written) = match said {
            (None, None, None, None) => return Ok(Self::Nothing),
            (Some(raw), None, None, None) => return text(Some(raw))?.map(Self::Text).ok_or(NOT_THE_DIALECT),
            (None, Some(raw), None, None) => (is_number(raw.get()), raw.get()),
            (None, None, Some(raw), None) => (matches!(raw.get(), "true" | "false"), raw.get()),
            (None, None, None, Some(raw)) => (matches!(raw.get(), "null" | "\"NULL_VALUE\""), "null"),
            _ => (false, ""),
        };
        if fits { Ok(Self::Scalar(written.to_owned())) } else { Err(NOT_THE_DIALECT) }
    }
}

impl Node {
    fn child(&mut self, step: Step, left: &mut ValuesLeft) -> Result<&mut Self, Fault> {
        if matches!(self, Self::Announced) {
            *self = match step {
                Step::Name(_) => Self::Object(Object::default()),
                Step::Index(_) => Self::List(Vec::new()),
            };
        }
        match (self, step) {
            (Self::Object(object), Step::Name(name)) => object.member(name, left),
            (Self::List(list), Step::Index(index)) => {
                if index == list.len() {
                    left.take()?;
                    list.push(Self::Announced);
                }
                // A gap would be filled with values that the model never gave.
                list.get_mut(index).ok_or(NOT_THE_DIALECT)
            }
            _ => Err(NOT_THE_DIALECT),
        }
    }

    fn add(&mut self, piece: Piece, will_continue: bool) -> Result<(), Fault> {
        match (self, piece) {
            (Self::Text { open, .. }, Piece::Nothing) => *open &= will_continue,
            (_, Piece::Nothing) => {}
            (Self::Text { text, open: open @ true }, Piece::Text(further)) => {
                text.push_str(&further);
                *open = will_continue;
            }
            (node @ Self::Announced, Piece::Text(text)) => *node = Self::Text { text, open: will_continue },
            (node @ Self::Announced, Piece::Scalar(written)) => *node = Self::Scalar(written),
            _ => return Err(NOT_THE_DIALECT),
        }
        Ok(())
    }

    fn expects_more(&self) -> bool {
        match self {
            Self::Announced => true,
            Self::Text { open, .. } => *open,
            Self::Scalar(_) => false,
            Self::Object(object) => object.expects_more(),
            Self::List(list) => list.iter().any(Self::expects_more),
        }
    }

    /// Arguments that lack a value break off at their end, where readers look for it, and not here.
    fn is_known(&self) -> bool {
        !matches!(self, Self::Announced)
    }

    fn write(&self, json: &mut String) -> Result<(), Fault> {
        match self {
            Self::Announced => {}
            Self::Text { text, .. } => write_text(text, json)?,
            Self::Scalar(written) => json.push_str(written),
            Self::Object(object) => object.write(json)?,
            Self::List(list) => {
                json.push('[');
                for (at, node) in list.iter().filter(|node| node.is_known()).enumerate() {
                    json.push_str(if at > 0 { "," } else { "" });
                    node.write(json)?;
                }
                json.push(']');
            }
        }
        Ok(())
    }
}

impl Object {
    fn member(&mut self, name: String, left: &mut ValuesLeft) -> Result<&mut Node, Fault> {
        let place = match self.places.get(&name) {
            Some(place) => *place,
            None => {
                left.take()?;
                self.places.insert(name.clone(), self.members.len());
                self.members.push((name, Node::Announced));
                self.members.len() - 1
            }
        };
        self.members.get_mut(place).map(|(_, node)| node).ok_or(NOT_THE_DIALECT)
    }

    fn expects_more(&self) -> bool {
        self.members.iter().any(|(_, node)| node.expects_more())
    }

    fn write(&self, json: &mut String) -> Result<(), Fault> {
        json.push('{');
        for (at, (name, node)) in self.members.iter().filter(|(_, node)| node.is_known()).enumerate() {
            json.push_str(if at > 0 { "," } else { "" });
            write_text(name, json)?;
            json.push(':');
            node.write(json)?;
        }
        json.push('}');
        Ok(())
    }
}

impl ValuesLeft {
    fn take(&mut self) -> Result<(), Fault> {
        self.0 = self.0.checked_sub(1).ok_or(NOT_THE_DIALECT)?;
        Ok(())
    }
}

fn is_number(written: &str) -> bool {
    written.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn write_text(text: &str, json: &mut String) -> Result<(), Fault> {
    json.push_str(&serde_json::to_string(text).map_err(|_| NOT_THE_DIALECT)?);
    Ok(())
}
