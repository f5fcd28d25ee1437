//! Text from outside, up to a bound.

use std::io::{self, Read};

/// Why there is no text. It ends a sentence about where the text was looked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("cannot be read: {}", .0.kind())]
    Io(#[from] io::Error),
    #[error("has more than {bytes_max} bytes")]
    TooLong { bytes_max: u64 },
    #[error("is not UTF-8")]
    NotUtf8,
}

/// Reads to the end, or to the first byte past the bound: a device that never ends has no length to ask for.
pub(crate) fn read_text(source: impl Read, bytes_max: u64) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    source.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Unreadable::TooLong { bytes_max });
    }
    String::from_utf8(bytes).map_err(|_| Unreadable::NotUtf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_up_to_its_bound_and_no_further() {
        assert_eq!(read_text("äb".as_bytes(), 3).unwrap(), "äb");
        assert!(matches!(read_text("äbc".as_bytes(), 3), Err(Unreadable::TooLong { bytes_max: 3 })));
        assert!(matches!(read_text(io::repeat(b'x'), 3), Err(Unreadable::TooLong { .. })));
        assert!(matches!(read_text(&[0xff][..], 3), Err(Unreadable::NotUtf8)));
    }
}
