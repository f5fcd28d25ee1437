//! Typed failures: a named channel and a payload that crosses every boundary as itself.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The channel of a [`TypedFailure`]. An open set: a newtype over its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailureChannel(Cow<'static, str>);

impl FailureChannel {
    /// A tool's input schema is not the pinned one (spec row T2).
    pub const SCHEMA_DRIFT: Self = Self(Cow::Borrowed("schemaDrift"));
    /// An output's shape is not the pinned one (spec row T3).
    pub const SHAPE_DRIFT: Self = Self(Cow::Borrowed("shapeDrift"));

    /// A channel of one's own; use a stable identifier.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// The text form, as it is journaled.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FailureChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A failure that a caller handles by its channel; it survives the journal with its payload (spec rows T2, T4).
///
/// The payload is for programs: the message never prints it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypedFailure {
    /// What kind of failure it is.
    pub channel: FailureChannel,
    /// What the handler needs, such as the expected and the actual hash.
    pub payload: Value,
}

impl TypedFailure {
    /// A failure on `channel`.
    #[must_use]
    pub fn new(channel: FailureChannel, payload: Value) -> Self {
        Self { channel, payload }
    }
}

impl fmt::Display for TypedFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "typed failure on channel `{}`", self.channel)
    }
}

impl std::error::Error for TypedFailure {}
