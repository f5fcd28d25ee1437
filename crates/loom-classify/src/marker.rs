//! The wire form of taint, `{"$tainted": {"origins": ["llm:plan"], "value": …}}`, and the private names by which
//! this crate's own types are told from data that only looks like them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::origin::{Origins, TaintOrigin};

/// The one key of the wrapper.
pub(crate) const MARKER_KEY: &str = "$tainted";
/// The key of the list of origins, inside the wrapper.
pub(crate) const ORIGINS_KEY: &str = "origins";
/// The key of the content, inside the wrapper.
pub(crate) const VALUE_KEY: &str = "value";

/// One of our own types, as it announces itself to a serializer.
///
/// A name is compared by address: JSON has no struct names, and a foreign type that was renamed to the same text
/// still has another address, so neither can pass for ours. Where the address is lost the marker is seen as plain
/// data and refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnName {
    /// `Tainted` or `TaintedStr`.
    Tainted,
    /// `Fenced`.
    Fenced,
    /// The wrapper: one field, `$tainted`.
    Wrapper,
    /// What stands under `$tainted`.
    Body,
}

impl OwnName {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Tainted => TAINTED_NAME,
            Self::Fenced => FENCED_NAME,
            Self::Wrapper => WRAPPER_NAME,
            Self::Body => BODY_NAME,
        }
    }

    #[inline]
    pub(crate) fn is(self, name: &'static str) -> bool {
        std::ptr::eq(self.text(), name)
    }
}

// The bytes are statics of their own: a literal may be copied into each crate, a static has one address.
static TAINTED_BYTES: [u8; 13] = *b"$loom/tainted";
static FENCED_BYTES: [u8; 12] = *b"$loom/fenced";
static WRAPPER_BYTES: [u8; 13] = *b"$loom/wrapper";
static BODY_BYTES: [u8; 10] = *b"$loom/body";
static TAINTED_NAME: &str = ascii(&TAINTED_BYTES);
static FENCED_NAME: &str = ascii(&FENCED_BYTES);
static WRAPPER_NAME: &str = ascii(&WRAPPER_BYTES);
static BODY_NAME: &str = ascii(&BODY_BYTES);

const fn ascii(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// Writes the wrapper. Content without an origin is written with the unlabelled one: a wrapper always has one.
pub(crate) struct Wrapper<'a, T: ?Sized> {
    pub(crate) origins: &'a Origins,
    pub(crate) value: &'a T,
}

impl<T: Serialize + ?Sized> Serialize for Wrapper<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wrapper = serializer.serialize_struct(OwnName::Wrapper.text(), 1)?;
        wrapper.serialize_field(MARKER_KEY, &Body { origins: self.origins, value: self.value })?;
        wrapper.end()
    }
}

struct Body<'a, T: ?Sized> {
    origins: &'a Origins,
    value: &'a T,
}

impl<T: Serialize + ?Sized> Serialize for Body<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_struct(OwnName::Body.text(), 2)?;
        if self.origins.is_empty() {
            body.serialize_field(ORIGINS_KEY, &Origins::from(TaintOrigin::unlabelled()))?;
        } else {
            body.serialize_field(ORIGINS_KEY, self.origins)?;
        }
        body.serialize_field(VALUE_KEY, self.value)?;
        body.end()
    }
}

/// Reads the wrapper and nothing else: no other key, no key twice, no list in place of an object.
///
/// # Errors
/// One fixed message for every fault, because a parser's own message may quote content.
pub(crate) fn read_wrapper<'de, D, T>(deserializer: D) -> Result<(Origins, T), D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let read = deserializer.deserialize_map(WrapperVisitor(PhantomData));
    read.map_err(|_| {
        D::Error::custom("expected `{\"$tainted\": {\"origins\": [..], \"value\": ..}}` and no other key")
    })
}

struct WrapperVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for WrapperVisitor<T> {
    type Value = (Origins, T);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the one key `$tainted`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        if map.next_key::<Cow<'de, str>>()?.as_deref() != Some(MARKER_KEY) {
            return Err(A::Error::custom("expected `$tainted`"));
        }
        let ReadBody(origins, value) = map.next_value()?;
        match map.next_key::<Cow<'de, str>>()? {
            None => Ok((origins, value)),
            Some(_) => Err(A::Error::custom("expected no second key")),
        }
    }
}

struct ReadBody<T>(Origins, T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ReadBody<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor(PhantomData))
    }
}

struct BodyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BodyVisitor<T> {
    type Value = ReadBody<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the keys `origins` and `value`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut origins = None;
        let mut value = None;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                ORIGINS_KEY if origins.is_none() => origins = Some(map.next_value()?),
                VALUE_KEY if value.is_none() => value = Some(map.next_value()?),
                _ => return Err(A::Error::custom("expected `origins` and `value`, each once")),
            }
        }
        match (origins, value) {
            (Some(origins), Some(value)) => Ok(ReadBody(origins, value)),
            _ => Err(A::Error::custom("expected both `origins` and `value`")),
        }
    }
}
