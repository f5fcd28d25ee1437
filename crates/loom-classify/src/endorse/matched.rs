//! A short text that a validator accepted.

use std::fmt;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Rejected, Small};

/// The longest endorsed text, in bytes.
pub const MATCHED_BYTES_MAX: usize = 256;

/// A short text that matched a declared shape. It is trusted, so it may be shown and serialized.
///
/// Whatever the shape, it has at most [`MATCHED_BYTES_MAX`] bytes and none of the characters that act on what stands
/// round them: no control characters, line breaks, bidi marks, or invisible tags.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Matched(Arc<str>);

impl Matched {
    /// A text that the calling validator has accepted.
    ///
    /// # Errors
    /// [`Rejected`] when it is longer than [`MATCHED_BYTES_MAX`] or has a character that acts on its surroundings.
    pub fn new(text: &str) -> Result<Self, Rejected> {
        if text.len() > MATCHED_BYTES_MAX {
            let bytes_max = i64::try_from(MATCHED_BYTES_MAX).unwrap_or(i64::MAX);
            return Err(Rejected::new("matched_text", "a length in bytes").within(0, bytes_max));
        }
        if text.chars().any(is_acting) {
            return Err(Rejected::new(
                "matched_text",
                "text without control characters, line breaks, bidi marks or invisible tags",
            ));
        }
        Ok(Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Small for Matched {
    const SPARE_BYTES: usize = 0;
}

impl fmt::Display for Matched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Matched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for Matched {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Matched {
    /// For what was endorsed before and recorded: the text must still be one that [`Matched::new`] takes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text =
            String::deserialize(deserializer).map_err(|_| D::Error::custom("expected an endorsed text"))?;
        Self::new(&text).map_err(D::Error::custom)
    }
}

/// Characters that change how the text round them is read or shown, or that carry text nobody sees.
fn is_acting(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Line and paragraph separators.
            '\u{2028}' | '\u{2029}'
            // Bidi marks, embeddings, overrides and isolates (Unicode property Bidi_Control), and the deprecated
            // format controls beside them.
            | '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}'
            // Interlinear annotation.
            | '\u{FFF9}'..='\u{FFFB}'
            // Tags and supplementary variation selectors: invisible, and able to spell out any text.
            | '\u{E0000}'..='\u{E0FFF}')
}
