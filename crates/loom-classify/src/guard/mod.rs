//! The request guard: no taint inside a request but in its fences, and a bound on size and depth (spec row D9).
//!
//! The guard goes through the request once and stops at the first offence; only then does it go through it again to
//! say where. A clean request costs no allocation.
//!
//! What counts as taint is the marker `$tainted` as a key: of a map, a JSON object, a struct or an enum variant, at
//! any depth, whatever stands under it. What is not a key is not looked at: the same wrapper turned into *text* by
//! the caller (`serde_json::to_string` of a tainted value) is text.

mod place;
mod scan;

use std::fmt;

use serde::Serialize;

use crate::origin::Origins;
use crate::walk::{COLLECTED_BYTES_MAX, DEPTH_MAX, WalkError, walk_to_depth};

pub use place::UntrustedContentError;
use scan::{Offence, Scan};

/// The default bound on a request's size, in bytes.
pub const REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a request may measure.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// The size, in bytes as [`Guarded::bytes`] counts them. Default: [`REQUEST_BYTES_MAX`].
    pub bytes_max: usize,
    /// The nesting of containers, in levels. Default, and the most there is: [`DEPTH_MAX`].
    pub depth_max: u32,
}

impl RequestLimits {
    /// The same with another bound on size, in bytes.
    #[must_use]
    pub const fn with_bytes_max(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// The same with another bound on nesting, in levels; more than [`DEPTH_MAX`] is read as that.
    #[must_use]
    pub const fn with_depth_max(self, depth_max: u32) -> Self {
        Self { depth_max, ..self }
    }
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { bytes_max: REQUEST_BYTES_MAX, depth_max: DEPTH_MAX }
    }
}

/// What the guard learned about a request that may go on.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// The origins of all taint in the request's fences. They join those of the call's output.
    pub fenced: Origins,
    /// The size: the bytes of every key, text and byte string and 2 for each, 2 for each container, 8 for each
    /// number, boolean or null.
    pub bytes: usize,
}

/// A request that must not go on.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Untrusted content stands where only trusted content may stand.
    #[error(transparent)]
    Untrusted(#[from] UntrustedContentError),
    /// The request is larger than allowed.
    #[error("the request is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The request nests deeper than allowed.
    #[error("the request nests deeper than {limit} levels")]
    TooDeep {
        /// The limit, in levels.
        limit: u32,
    },
    /// The request cannot be seen into, so it is refused.
    #[error("the request cannot be checked: {reason}")]
    NotWalkable {
        /// Why not.
        reason: WalkError,
    },
}

/// Goes through `value`, and refuses it if it holds taint anywhere outside a typed [`Fenced`](crate::Fenced).
///
/// Inside a fence only what is too large, too deep or raw JSON text is refused; the origins that a fence's own wrapper or a nested one
/// states are collected, and a nested marker that states none counts as `unknown:unlabelled`.
///
/// # Errors
/// [`RequestError::Untrusted`] with the place, named by struct fields alone; or the request is too large, too deep,
/// or cannot be seen into (raw JSON text, or a `Serialize` that fails). Keys and text of the request are not quoted.
#[inline]
pub fn guard_request<T: Serialize + ?Sized>(
    value: &T,
    limits: &RequestLimits,
) -> Result<Guarded, RequestError> {
    let mut scan = Scan::new(limits.bytes_max);
    match walk_to_depth(value, &mut scan, limits.depth_max) {
        Ok(()) => scan.into_guarded().ok_or(RequestError::TooLarge { limit: limits.bytes_max }),
        Err(error) => Err(refuse(scan.offence(), error, limits, || place::find(value))),
    }
}

#[cold]
fn refuse(
    offence: Option<Offence>,
    error: WalkError,
    limits: &RequestLimits,
    place: impl FnOnce() -> UntrustedContentError,
) -> RequestError {
    match (offence, error) {
        (Some(Offence::Untrusted), _) => RequestError::Untrusted(place()),
        (Some(Offence::TooLarge), _) => RequestError::TooLarge { limit: limits.bytes_max },
        (Some(Offence::RawJson), _) => RequestError::NotWalkable { reason: WalkError::NotWalkable },
        (None, WalkError::TooDeep { limit }) => RequestError::TooDeep { limit },
        (None, WalkError::TextTooLong) => {
            RequestError::TooLarge { limit: COLLECTED_BYTES_MAX.min(limits.bytes_max) }
        }
        (None, reason) => RequestError::NotWalkable { reason },
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, fenced: [{}]", self.bytes, self.fenced)
    }
}
