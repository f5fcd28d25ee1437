//! The serializer that writes a value's canonical bytes.

use serde::ser::{
    Serialize, SerializeSeq, SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::object::Object;
use super::{float, push_text, signed, unsigned};

/// What the names of the types begin with by which serde_json hands over what is no struct.
const SERDE_JSON_OWN: &str = "$serde_json::";

/// The value is not plain enough to be written as it serializes itself.
#[derive(Debug, thiserror::Error)]
#[error("the value has no direct canonical form")]
pub(super) struct Unusual;

impl serde::ser::Error for Unusual {
    fn custom<T: std::fmt::Display>(_message: T) -> Self {
        Self
    }
}

/// Writes one value, or the key of an entry.
pub(super) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    is_key: bool,
}

impl<'o> Writer<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, is_key: false }
    }

    /// Writes a key as the text that it is; what is none is unusual.
    pub(super) fn key<K: Serialize + ?Sized>(key: &K, out: &'o mut Vec<u8>) -> Result<(), Unusual> {
        let start = out.len();
        key.serialize(Writer { out: &mut *out, is_key: true })?;
        if out.get(start) == Some(&b's') { Ok(()) } else { Err(Unusual) }
    }

    /// The object that names a variant, open for its content.
    fn variant(self, variant: &'static str) -> &'o mut Vec<u8> {
        self.out.push(b'{');
        push_text(variant, self.out);
        self.out
    }
}

macro_rules! integers {
    ($($method:ident: $from:ty => $write:ident($to:ty)),+) => {$(
        fn $method(self, number: $from) -> Result<(), Unusual> {
            $write(<$to>::try_from(number).map_err(|_| Unusual)?, self.out);
            Ok(())
        }
    )+};
}

impl<'o> Serializer for Writer<'o> {
    type Ok = ();
    type Error = Unusual;
    type SerializeSeq = Array<'o>;
    type SerializeTuple = Array<'o>;
    type SerializeTupleStruct = Array<'o>;
    type SerializeTupleVariant = Array<'o>;
    type SerializeMap = Object<'o>;
    type SerializeStruct = Object<'o>;
    type SerializeStructVariant = Object<'o>;

    integers! {
        serialize_u8: u8 => unsigned(u64), serialize_u16: u16 => unsigned(u64), serialize_u32: u32 => unsigned(u64),
        serialize_u64: u64 => unsigned(u64), serialize_u128: u128 => unsigned(u64), serialize_i8: i8 => signed(i64),
        serialize_i16: i16 => signed(i64), serialize_i32: i32 => signed(i64), serialize_i64: i64 => signed(i64)
    }

    fn serialize_i128(self, number: i128) -> Result<(), Unusual> {
        match u64::try_from(number) {
            Ok(number) => unsigned(number, self.out),
            Err(_) => signed(i64::try_from(number).map_err(|_| Unusual)?, self.out),
        }
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Unusual> {
        self.serialize_f64(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Result<(), Unusual> {
        if !number.is_finite() {
            return Err(Unusual);
        }
        float(number, self.out);
        Ok(())
    }

    fn serialize_bool(self, value: bool) -> Result<(), Unusual> {
        self.out.push(if value { b't' } else { b'f' });
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Unusual> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Unusual> {
        push_text(text, self.out);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Unusual> {
        self.out.push(b'[');
        bytes.iter().for_each(|byte| unsigned(u64::from(*byte), self.out));
        self.out.push(b']');
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Unusual> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unusual> {
        // JSON takes no optional key.
        if self.is_key {
            return Err(Unusual);
        }
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unusual> {
        self.out.push(b'0');
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Unusual> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Unusual> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unusual> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Unusual> {
        let out = self.variant(variant);
        value.serialize(Writer::new(out))?;
        out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Array<'o>, Unusual> {
        Ok(Array::open(self.out, b"]"))
    }

    fn serialize_tuple(self, length: usize) -> Result<Array<'o>, Unusual> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Array<'o>, Unusual> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Array<'o>, Unusual> {
        Ok(Array::open(self.variant(variant), b"]}"))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Object<'o>, Unusual> {
        Ok(Object::open(self.out, b"}"))
    }

    fn serialize_struct(self, name: &'static str, _length: usize) -> Result<Object<'o>, Unusual> {
        if name.starts_with(SERDE_JSON_OWN) {
            return Err(Unusual);
        }
        Ok(Object::open(self.out, b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Object<'o>, Unusual> {
        Ok(Object::open(self.variant(variant), b"}}"))
    }
}

/// An open array.
pub(super) struct Array<'o> {
    out: &'o mut Vec<u8>,
    ends: &'static [u8],
}

impl<'o> Array<'o> {
    fn open(out: &'o mut Vec<u8>, ends: &'static [u8]) -> Self {
        out.push(b'[');
        Self { out, ends }
    }
}

macro_rules! arrays {
    ($($trait:ident :: $method:ident),+) => {$(
        impl $trait for Array<'_> {
            type Ok = ();
            type Error = Unusual;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unusual> {
                value.serialize(Writer::new(self.out))
            }

            fn end(self) -> Result<(), Unusual> {
                self.out.extend_from_slice(self.ends);
                Ok(())
            }
        }
    )+};
}

arrays!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);
