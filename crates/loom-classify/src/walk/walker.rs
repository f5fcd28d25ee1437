//! The serializer that turns a value's own `Serialize` into visits.

use std::fmt;
use std::ops::ControlFlow;

use serde::{Serialize, Serializer};

use super::collected::Collected;
use super::room::{Room, Shape};
use super::{DEPTH_MAX, Scalar, Visit, WalkError};
use crate::marker::OwnName;

/// The name under which serde_json hands over raw JSON text (`serde_json::value::RawValue`).
pub(crate) const RAW_JSON_NAME: &str = "$serde_json::private::RawValue";
/// The name under which serde_json hands over a number as text (its feature `arbitrary_precision`).
pub(super) const NUMBER_NAME: &str = "$serde_json::private::Number";

/// What a text is, by where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Text,
    Key,
    Origin,
}

pub(super) struct Walker<'v, V: ?Sized> {
    pub(super) visit: &'v mut V,
    pub(super) role: Role,
    depth: u32,
    depth_max: u32,
    wrappers: u32,
}

#[inline]
pub(super) fn go(flow: ControlFlow<()>) -> Result<(), WalkError> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(WalkError::Stopped),
    }
}

impl<'v, V: Visit + ?Sized> Walker<'v, V> {
    #[inline]
    pub(super) fn new(visit: &'v mut V, depth_max: u32) -> Self {
        Self { visit, role: Role::Text, depth: 0, depth_max, wrappers: 0 }
    }

    #[inline]
    pub(super) fn enter(&mut self) -> Result<(), WalkError> {
        if self.depth >= self.depth_max {
            return Err(WalkError::TooDeep { limit: self.depth_max });
        }
        self.depth += 1;
        go(self.visit.enter())
    }

    #[inline]
    pub(super) fn leave(&mut self) -> Result<(), WalkError> {
        self.depth -= 1;
        go(self.visit.leave())
    }

    #[inline]
    fn text(&mut self, text: &str) -> Result<(), WalkError> {
        go(match self.role {
            Role::Text => self.visit.text(text),
            Role::Key => self.visit.key(text),
            Role::Origin => self.visit.origin(text),
        })
    }

    #[inline]
    fn scalar(&mut self, scalar: Scalar) -> Result<(), WalkError> {
        go(self.visit.scalar(scalar))
    }

    /// A layer that JSON does not show; counted, because a type may nest them without end.
    #[inline]
    fn wrapped<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
        if self.wrappers >= DEPTH_MAX {
            return Err(WalkError::TooDeep { limit: DEPTH_MAX });
        }
        self.wrappers += 1;
        value.serialize(&mut *self)?;
        self.wrappers -= 1;
        Ok(())
    }

    /// Opens a container. Parts of a key that is no plain text are shown as values; a list of origins is not shown.
    #[inline]
    fn room<'w>(&'w mut self) -> Result<Room<'w, 'v, V>, WalkError> {
        if self.role == Role::Origin {
            return Ok(Room::new(self, Shape::Open, 0));
        }
        self.role = Role::Text;
        self.enter()?;
        Ok(Room::new(self, Shape::Open, 1))
    }

    /// Opens the object that names a variant, and the container in it.
    #[inline]
    fn variant_room<'w>(&'w mut self, variant: &'static str) -> Result<Room<'w, 'v, V>, WalkError> {
        self.role = Role::Text;
        self.enter()?;
        go(self.visit.field(variant))?;
        self.enter()?;
        Ok(Room::new(self, Shape::Open, 2))
    }
}

impl<'w, 'v, V: Visit + ?Sized> Serializer for &'w mut Walker<'v, V> {
    type Ok = ();
    type Error = WalkError;
    type SerializeSeq = Room<'w, 'v, V>;
    type SerializeTuple = Room<'w, 'v, V>;
    type SerializeTupleStruct = Room<'w, 'v, V>;
    type SerializeTupleVariant = Room<'w, 'v, V>;
    type SerializeMap = Room<'w, 'v, V>;
    type SerializeStruct = Room<'w, 'v, V>;
    type SerializeStructVariant = Room<'w, 'v, V>;

    #[inline]
    fn serialize_bool(self, v: bool) -> Result<(), WalkError> {
        self.scalar(Scalar::Bool(v))
    }

    #[inline]
    fn serialize_i8(self, v: i8) -> Result<(), WalkError> {
        self.serialize_i64(v.into())
    }

    #[inline]
    fn serialize_i16(self, v: i16) -> Result<(), WalkError> {
        self.serialize_i64(v.into())
    }

    #[inline]
    fn serialize_i32(self, v: i32) -> Result<(), WalkError> {
        self.serialize_i64(v.into())
    }

    #[inline]
    fn serialize_i64(self, v: i64) -> Result<(), WalkError> {
        self.scalar(Scalar::Signed(v))
    }

    #[inline]
    fn serialize_i128(self, v: i128) -> Result<(), WalkError> {
        self.scalar(Scalar::SignedWide(v))
    }

    #[inline]
    fn serialize_u8(self, v: u8) -> Result<(), WalkError> {
        self.serialize_u64(v.into())
    }

    #[inline]
    fn serialize_u16(self, v: u16) -> Result<(), WalkError> {
        self.serialize_u64(v.into())
    }

    #[inline]
    fn serialize_u32(self, v: u32) -> Result<(), WalkError> {
        self.serialize_u64(v.into())
    }

    #[inline]
    fn serialize_u64(self, v: u64) -> Result<(), WalkError> {
        self.scalar(Scalar::Unsigned(v))
    }

    #[inline]
    fn serialize_u128(self, v: u128) -> Result<(), WalkError> {
        self.scalar(Scalar::UnsignedWide(v))
    }

    #[inline]
    fn serialize_f32(self, v: f32) -> Result<(), WalkError> {
        self.serialize_f64(v.into())
    }

    #[inline]
    fn serialize_f64(self, v: f64) -> Result<(), WalkError> {
        self.scalar(Scalar::Float(v))
    }

    #[inline]
    fn serialize_char(self, v: char) -> Result<(), WalkError> {
        self.text(v.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, v: &str) -> Result<(), WalkError> {
        self.text(v)
    }

    #[inline]
    fn serialize_bytes(self, v: &[u8]) -> Result<(), WalkError> {
        go(self.visit.bytes(v))
    }

    #[inline]
    fn serialize_none(self) -> Result<(), WalkError> {
        self.scalar(Scalar::Null)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WalkError> {
        self.wrapped(value)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), WalkError> {
        self.scalar(Scalar::Null)
    }

    #[inline]
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), WalkError> {
        self.scalar(Scalar::Null)
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), WalkError> {
        go(self.visit.field(variant))
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), WalkError> {
        if OwnName::Tainted.is(name) {
            go(self.visit.taint_enter())?;
            self.wrapped(value)?;
            return go(self.visit.taint_leave());
        }
        if OwnName::Fenced.is(name) {
            go(self.visit.fence_enter())?;
            self.wrapped(value)?;
            return go(self.visit.fence_leave());
        }
        self.wrapped(value)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), WalkError> {
        self.role = Role::Text;
        self.enter()?;
        go(self.visit.field(variant))?;
        value.serialize(&mut *self)?;
        self.leave()
    }

    #[inline]
    fn serialize_seq(self, _len: Option<usize>) -> Result<Room<'w, 'v, V>, WalkError> {
        self.room()
    }

    #[inline]
    fn serialize_tuple(self, _len: usize) -> Result<Room<'w, 'v, V>, WalkError> {
        self.room()
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Room<'w, 'v, V>, WalkError> {
        self.room()
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Room<'w, 'v, V>, WalkError> {
        self.variant_room(variant)
    }

    #[inline]
    fn serialize_map(self, _len: Option<usize>) -> Result<Room<'w, 'v, V>, WalkError> {
        self.room()
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Room<'w, 'v, V>, WalkError> {
        if OwnName::Wrapper.is(name) {
            return Ok(Room::new(self, Shape::Wrapper, 0));
        }
        if OwnName::Body.is(name) {
            return Ok(Room::new(self, Shape::Body, 0));
        }
        match name {
            RAW_JSON_NAME => Err(WalkError::NotWalkable),
            NUMBER_NAME => Ok(Room::new(self, Shape::Number, 0)),
            _ => self.room(),
        }
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Room<'w, 'v, V>, WalkError> {
        self.variant_room(variant)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), WalkError> {
        let mut collected = Collected::default();
        let written = fmt::write(&mut collected, format_args!("{value}"));
        if collected.overran() {
            return Err(WalkError::TextTooLong);
        }
        written.map_err(|fmt::Error| WalkError::Failed)?;
        self.text(collected.as_str())
    }
}
