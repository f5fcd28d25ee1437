//! What a `Display` value writes, collected so that it is judged as one text.

use std::fmt;

use super::COLLECTED_BYTES_MAX;

/// Ids, addresses and times fit into this many bytes, so that they cost no allocation.
const INLINE_BYTES: usize = 128;

/// A text in the making: on the stack while it is short, on the heap beyond, never longer than
/// [`COLLECTED_BYTES_MAX`].
pub(super) struct Collected {
    inline: [u8; INLINE_BYTES],
    inline_len: usize,
    heap: String,
    overran: bool,
}

impl Default for Collected {
    fn default() -> Self {
        Self { inline: [0; INLINE_BYTES], inline_len: 0, heap: String::new(), overran: false }
    }
}

impl Collected {
    pub(super) fn overran(&self) -> bool {
        self.overran
    }

    pub(super) fn as_str(&self) -> &str {
        if self.heap.is_empty() { self.inline_str() } else { &self.heap }
    }

    fn inline_str(&self) -> &str {
        // Only whole `str`s are copied in, so this is always valid text.
        let bytes = self.inline.get(..self.inline_len).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Write for Collected {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.heap.is_empty() {
            let end = self.inline_len + piece.len();
            if let Some(place) = self.inline.get_mut(self.inline_len..end) {
                place.copy_from_slice(piece.as_bytes());
                self.inline_len = end;
                return Ok(());
            }
        }
        if self.as_str().len() + piece.len() > COLLECTED_BYTES_MAX {
            self.overran = true;
            return Err(fmt::Error);
        }
        if self.heap.is_empty() {
            self.heap = self.inline_str().to_owned();
        }
        self.heap.push_str(piece);
        Ok(())
    }
}
