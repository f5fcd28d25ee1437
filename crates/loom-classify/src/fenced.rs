//! The one declared place where a request may carry untrusted content.

use std::fmt;
use std::panic::Location;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::audit::{self, UnwrapKind};
use crate::marker::{MARKER_KEY, OwnName, Wrapper};
use crate::origin::Origins;
use crate::tainted::Tainted;

/// Content that may be untrusted, in the field of a request that says so (spec row D9).
///
/// An effect whose input type has a `Fenced` field can receive taint there and nowhere else: tool and assistant
/// messages of a model, never its system or user messages. The request guard does not refuse what is inside, and
/// adds its origins to those of the call's output.
///
/// The serde form is the bare value when it is trusted, else the same marked wrapper as that of [`Tainted`]; both
/// are read. Only the typed value is a fence: its JSON form, put into another request, is refused there.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Fenced<T> {
    value: T,
    origins: Origins,
}

impl<T> Fenced<T> {
    /// Content that the caller itself vouches for.
    pub const fn trusted(value: T) -> Self {
        Self { value, origins: Origins::none() }
    }

    /// Where the content came from; none when it is trusted.
    pub const fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Whether the content has no untrusted origin.
    pub fn is_trusted(&self) -> bool {
        self.origins.is_empty()
    }

    /// Derives a value; it keeps the origins.
    pub fn map<U>(self, derive: impl FnOnce(T) -> U) -> Fenced<U> {
        Fenced { value: derive(self.value), origins: self.origins }
    }

    /// Takes the content out of the fence. If it is untrusted, the call site is the audit trail.
    #[track_caller]
    pub fn unwrap_tainted(self) -> T {
        self.record(Location::caller(), UnwrapKind::Unwrap);
        self.value
    }

    /// Looks at the content as if it were trusted. If it is not, the call site is the audit trail.
    #[track_caller]
    pub fn expose_tainted(&self) -> &T {
        self.record(Location::caller(), UnwrapKind::Expose);
        &self.value
    }

    fn record(&self, location: &'static Location<'static>, kind: UnwrapKind) {
        if !self.is_trusted() {
            audit::record(location, &self.origins, kind);
        }
    }
}

impl<T> From<Tainted<T>> for Fenced<T> {
    fn from(tainted: Tainted<T>) -> Self {
        let (value, origins) = tainted.into_parts();
        Self { value, origins }
    }
}

impl<T> fmt::Debug for Fenced<T> {
    /// Prints the origins, or that it is trusted; never the content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_trusted() { f.write_str("Fenced(trusted)") } else { write!(f, "Fenced({})", self.origins) }
    }
}

impl<T: Serialize> Serialize for Fenced<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = OwnName::Fenced.text();
        if self.is_trusted() {
            return serializer.serialize_newtype_struct(name, &self.value);
        }
        serializer.serialize_newtype_struct(name, &Wrapper { origins: &self.origins, value: &self.value })
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Fenced<T> {
    /// Reads the marked wrapper or a bare value. An object that has the key `$tainted` is read as the wrapper or
    /// refused; no error quotes content.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let misfit = |_| D::Error::custom("expected the fenced content, bare or in its `$tainted` wrapper");
        let value =
            Value::deserialize(deserializer).map_err(|_| D::Error::custom("expected a JSON value"))?;
        if value.get(MARKER_KEY).is_some() {
            return Tainted::deserialize(value).map(Self::from).map_err(misfit);
        }
        T::deserialize(value).map(Self::trusted).map_err(misfit)
    }
}
