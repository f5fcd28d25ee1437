//! One open container of a walk.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::walker::{NUMBER_NAME, Role, Walker, go};
use super::{Visit, WalkError};
use crate::marker::ORIGINS_KEY;

/// How a container shows its fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Each with its name.
    Open,
    /// Our own wrapper: its value alone.
    Wrapper,
    /// A number that serde_json keeps as text: its digits alone.
    Number,
    /// The body of our own wrapper: origins as origins, then the content.
    Body,
}

pub(super) struct Room<'w, 'v, V: ?Sized> {
    walker: &'w mut Walker<'v, V>,
    shape: Shape,
    closes: u8,
}

impl<'w, 'v, V: Visit + ?Sized> Room<'w, 'v, V> {
    /// A room whose end leaves `closes` containers.
    #[inline]
    pub(super) fn new(walker: &'w mut Walker<'v, V>, shape: Shape, closes: u8) -> Self {
        Self { walker, shape, closes }
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
        value.serialize(&mut *self.walker)
    }

    #[inline]
    fn named<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), WalkError> {
        match self.shape {
            Shape::Open => go(self.walker.visit.field(name))?,
            Shape::Body if name == ORIGINS_KEY => return self.as_role(Role::Origin, value),
            Shape::Number if name != NUMBER_NAME => go(self.walker.visit.field(name))?,
            Shape::Wrapper | Shape::Number | Shape::Body => {}
        }
        self.element(value)
    }

    #[inline]
    fn as_role<T: Serialize + ?Sized>(&mut self, role: Role, value: &T) -> Result<(), WalkError> {
        let outer = std::mem::replace(&mut self.walker.role, role);
        let walked = self.element(value);
        self.walker.role = outer;
        walked
    }

    #[inline]
    fn close(self) -> Result<(), WalkError> {
        for _ in 0..self.closes {
            self.walker.leave()?;
        }
        Ok(())
    }
}

macro_rules! sequence {
    ($($trait:ident :: $method:ident),+) => {$(
        impl<V: Visit + ?Sized> $trait for Room<'_, '_, V> {
            type Ok = ();
            type Error = WalkError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
                self.element(value)
            }

            #[inline]
            fn end(self) -> Result<(), WalkError> {
                self.close()
            }
        }
    )+};
}

sequence!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! record {
    ($($trait:ident),+) => {$(
        impl<V: Visit + ?Sized> $trait for Room<'_, '_, V> {
            type Ok = ();
            type Error = WalkError;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), WalkError> {
                self.named(name, value)
            }

            #[inline]
            fn end(self) -> Result<(), WalkError> {
                self.close()
            }
        }
    )+};
}

record!(SerializeStruct, SerializeStructVariant);

impl<V: Visit + ?Sized> SerializeMap for Room<'_, '_, V> {
    type Ok = ();
    type Error = WalkError;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WalkError> {
        self.as_role(Role::Key, key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
        self.element(value)
    }

    #[inline]
    fn end(self) -> Result<(), WalkError> {
        self.close()
    }
}
