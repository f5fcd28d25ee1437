//! Shows a visitor what is inside any `Serialize` value, typed or JSON, without building anything.
//!
//! One serializer serves the request guard, the size cap and the validators. It is generic over value and visitor,
//! so that for a small struct of numbers nothing of it remains after optimisation.
//!
//! ```
//! use std::ops::ControlFlow;
//! use loom_classify::walk::{Visit, walk};
//!
//! struct Longest(usize);
//! impl Visit for Longest {
//!     fn text(&mut self, text: &str) -> ControlFlow<()> {
//!         self.0 = self.0.max(text.len());
//!         ControlFlow::Continue(())
//!     }
//! }
//!
//! let mut longest = Longest(0);
//! walk(&("a", ["bcd", "ef"], 7), &mut longest)?;
//! assert_eq!(longest.0, 3);
//! # Ok::<(), loom_classify::walk::WalkError>(())
//! ```

mod collected;
mod room;
mod walker;

use std::fmt;
use std::ops::ControlFlow;

use serde::Serialize;

pub(crate) use walker::RAW_JSON_NAME;
use walker::Walker;

/// The deepest nesting that is walked, in containers; and, counted apart, in `Some` and newtype wrappers.
pub const DEPTH_MAX: u32 = 128;

/// The longest text that a `Display` value may write, in bytes; see [`WalkError::TextTooLong`].
pub const COLLECTED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a walk meets, in the order in which the value serializes it. Every method may end the walk by `Break`.
///
/// The order of events is that of JSON: `enter`, then for each entry its key and its value, then `leave`. An enum
/// variant is a field with a value; a unit variant is a field alone. A wrapper that is this crate's own (a typed
/// [`Tainted`](crate::Tainted) or [`Fenced`](crate::Fenced)) is not shown as keys: its content stands between
/// `taint_enter` and `taint_leave`, or `fence_enter` and `fence_leave`, and its origins come by `origin`. The same
/// wrapper in a JSON value is data like any other, and shown so.
pub trait Visit {
    /// A key that is data: of a map, or of a JSON object.
    fn key(&mut self, key: &str) -> ControlFlow<()> {
        let _ = key;
        ControlFlow::Continue(())
    }

    /// The name of a struct's field or of an enum's variant: text that the program's author wrote.
    /// By default it is a [`key`](Self::key).
    fn field(&mut self, name: &'static str) -> ControlFlow<()> {
        self.key(name)
    }

    /// A text. A `char` is one, and so is all that a `Display` value writes, in one piece.
    fn text(&mut self, text: &str) -> ControlFlow<()> {
        let _ = text;
        ControlFlow::Continue(())
    }

    /// A byte string.
    fn bytes(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let _ = bytes;
        ControlFlow::Continue(())
    }

    /// A number, a boolean or nothing.
    fn scalar(&mut self, scalar: Scalar) -> ControlFlow<()> {
        let _ = scalar;
        ControlFlow::Continue(())
    }

    /// A container begins: a sequence, tuple, map, struct, or the object that names a variant.
    fn enter(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The container ends.
    fn leave(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A typed [`Fenced`](crate::Fenced) begins.
    fn fence_enter(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The fence ends.
    fn fence_leave(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A typed [`Tainted`](crate::Tainted) or [`TaintedStr`](crate::TaintedStr) begins.
    fn taint_enter(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The tainted value ends.
    fn taint_leave(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// An origin of the typed tainted or fenced value that began last; it comes before the content.
    fn origin(&mut self, origin: &str) -> ControlFlow<()> {
        let _ = origin;
        ControlFlow::Continue(())
    }
}

/// A value that has no text of its own. `Display` writes it as JSON does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// `None`, `()` or a unit struct.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer of up to 64 bits.
    Signed(i64),
    /// An unsigned integer of up to 64 bits.
    Unsigned(u64),
    /// A signed integer of 128 bits.
    SignedWide(i128),
    /// An unsigned integer of 128 bits.
    UnsignedWide(u128),
    /// A floating-point number.
    Float(f64),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::SignedWide(value) => value.fmt(f),
            Self::UnsignedWide(value) => value.fmt(f),
            Self::Float(value) if value.is_finite() => value.fmt(f),
            Self::Float(_) => f.write_str("null"),
        }
    }
}

/// A walk that did not reach the end.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The visitor ended it.
    #[error("the visitor ended the walk")]
    Stopped,
    /// The value nests deeper than is walked.
    #[error("the value nests deeper than {limit} levels")]
    TooDeep {
        /// The limit, in levels.
        limit: u32,
    },
    /// A `Display` value wrote more than is collected: it is judged as one text, so it must fit into memory.
    #[error("a displayed value is longer than {COLLECTED_BYTES_MAX} bytes")]
    TextTooLong,
    /// The value holds raw JSON, whose keys cannot be seen.
    #[error("the value holds raw JSON text, whose content cannot be seen; parse it into a JSON value first")]
    NotWalkable,
    /// The value's own `Serialize` reported an error. Its message is dropped: it may quote content.
    #[error("the value's own `Serialize` failed")]
    Failed,
}

impl serde::ser::Error for WalkError {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self::Failed
    }
}

/// Shows `value` to `visit`, to the end or until `visit` breaks off.
///
/// It allocates nothing, but for a `Display` value (`collect_str`) of more than 128 bytes. Fields that `Serialize`
/// leaves out (`#[serde(skip)]`) are not seen.
///
/// # Errors
/// [`WalkError`]: the visitor broke off, the value nests deeper than [`DEPTH_MAX`], holds raw JSON, or its own
/// `Serialize` failed.
#[inline]
pub fn walk<T: Serialize + ?Sized, V: Visit + ?Sized>(value: &T, visit: &mut V) -> Result<(), WalkError> {
    walk_to_depth(value, visit, DEPTH_MAX)
}

/// [`walk`] with a lower limit on containers.
#[inline]
pub(crate) fn walk_to_depth<T: Serialize + ?Sized, V: Visit + ?Sized>(
    value: &T,
    visit: &mut V,
    depth_max: u32,
) -> Result<(), WalkError> {
    value.serialize(&mut Walker::new(visit, depth_max.min(DEPTH_MAX)))
}
