//! Objects and lists of them in the places where the dialect wants them, as servers really fill these.
//!
//! An empty value of another type (`[]`, `""`, `false`, 0) is an absent object; anything else is a fault, as it would be
//! lost in silence. They are read as they come, without a copy of what they hold.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// An object, if there is one.
pub(super) struct One<T>(pub(super) Option<T>);

/// The objects of a list; an object in its place is a list of one.
pub(super) struct Several<T>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Loose::<Self>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Loose::<Self>(PhantomData))
    }
}

/// What can be made of nothing, of one object, and of a list.
trait Made<'de>: Sized {
    fn of_nothing() -> Self;

    fn of_object<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;

    fn of_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error>;
}

impl<'de, T: Deserialize<'de>> Made<'de> for One<T> {
    fn of_nothing() -> Self {
        Self(None)
    }

    fn of_object<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Self(Some(object)))
    }

    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        match list.next_element::<IgnoredAny>()? {
            None => Ok(Self(None)),
            Some(_) => Err(A::Error::custom("a list that is not empty")),
        }
    }
}

impl<'de, T: Deserialize<'de> + Default> Made<'de> for Several<T> {
    fn of_nothing() -> Self {
        Self(Vec::new())
    }

    fn of_object<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Self(vec![object]))
    }

    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut objects = Vec::new();
        while let Some(One(object)) = list.next_element()? {
            // Its place counts where it has no number.
            objects.push(object.unwrap_or_default());
        }
        Ok(Self(objects))
    }
}

struct Loose<M>(PhantomData<M>);

impl<'de, M: Made<'de>> Visitor<'de> for Loose<M> {
    type Value = M;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or nothing")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<M, A::Error> {
        M::of_object(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<M, A::Error> {
        M::of_list(list)
    }

    fn visit_unit<E: Error>(self) -> Result<M, E> {
        Ok(M::of_nothing())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<M, E> {
        nothing_if(!value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<M, E> {
        nothing_if(value == 0)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<M, E> {
        nothing_if(value.is_empty())
    }
}

fn nothing_if<'de, M: Made<'de>, E: Error>(is_nothing: bool) -> Result<M, E> {
    if is_nothing { Ok(M::of_nothing()) } else { Err(E::custom("a value that is no object")) }
}
