//! The canonical bytes of a value: one form for all that has the same JSON, and for nothing else.
//!
//! Written straight from a value's own `Serialize` where that is plain; what is not (a map whose keys are no texts, a
//! key that comes twice, a number that JSON cannot write, many unsorted entries) is written from its JSON view. Both ways
//! give the same bytes, so it does not matter which was taken.
//!
//! Each value begins with a tag that says where it ends, so no two values, and no two sequences of them, share a form.

mod object;
#[cfg(test)]
mod tests;
mod writer;

use serde::Serialize;
use serde_json::{Number, Value};

use writer::Writer;

/// A text, with its length before it.
pub(crate) fn push_text(text: &str, out: &mut Vec<u8>) {
    match u8::try_from(text.len()) {
        Ok(length @ ..=0xfe) => out.extend_from_slice(&[b's', length]),
        _ => {
            out.extend_from_slice(&[b's', 0xff]);
            out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(text.as_bytes());
}

/// Writes from the value's own `Serialize`, with no other allocation than `out`'s. False where it is not plain enough;
/// `out` then ends with a part of it.
pub(super) fn from_value<T: Serialize>(value: &T, out: &mut Vec<u8>) -> bool {
    value.serialize(Writer::new(out)).is_ok()
}

/// Writes from a JSON view.
pub(crate) fn from_json(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            out.push(b'{');
            for (key, value) in entries {
                push_text(key, out);
                from_json(value, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            items.iter().for_each(|item| from_json(item, out));
            out.push(b']');
        }
        Value::String(text) => push_text(text, out),
        Value::Number(number) => from_number(number, out),
        Value::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Value::Null => out.push(b'0'),
    }
}

fn from_number(number: &Number, out: &mut Vec<u8>) {
    if let Some(number) = number.as_u64() {
        unsigned(number, out);
    } else if let Some(number) = number.as_i64() {
        signed(number, out);
    } else {
        // Built with `arbitrary_precision`, serde_json keeps digits that no float has.
        match number.as_f64().filter(|float| Number::from_f64(*float).as_ref() == Some(number)) {
            Some(number) => float(number, out),
            None => {
                out.push(b'n');
                push_text(&number.to_string(), out);
            }
        }
    }
}

fn unsigned(number: u64, out: &mut Vec<u8>) {
    out.push(b'u');
    out.extend_from_slice(&number.to_le_bytes());
}

fn signed(number: i64, out: &mut Vec<u8>) {
    match u64::try_from(number) {
        Ok(number) => unsigned(number, out),
        Err(_) => {
            out.push(b'i');
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

fn float(number: f64, out: &mut Vec<u8>) {
    out.push(b'd');
    out.extend_from_slice(&number.to_bits().to_le_bytes());
}
