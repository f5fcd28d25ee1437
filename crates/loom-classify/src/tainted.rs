//! Untrusted content: owned, and borrowed for the length of one delivery.

use std::fmt;
use std::panic::Location;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::audit::{self, UnwrapKind};
use crate::endorse::{Endorser, Rejected, Small};
use crate::marker::{OwnName, Wrapper, read_wrapper};
use crate::origin::{Origins, TaintOrigin};

/// A value that a model, a tool or a sandbox produced, with its origins (spec row D9).
///
/// It has no `Display`, `Deref`, `AsRef`, `Borrow` or conversion into its content: the ways out are
/// [`unwrap_tainted`](Self::unwrap_tainted), [`expose_tainted`](Self::expose_tainted) and
/// [`endorse`](Self::endorse), and each reports its call site to the [`audit`] hook. `Debug` prints the origins
/// only. It has at least one origin at all times.
///
/// What it does not promise: that a closure given to [`map`](Self::map) keeps the content to itself, or anything
/// about the flow of information by control flow (whether a validator said yes, how many items there were).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tainted<T> {
    value: T,
    origins: Origins,
}

impl<T> Tainted<T> {
    /// Taints `value`. Without any origin it gets `unknown:unlabelled`: what is tainted by nobody known is not trusted.
    pub fn new(value: T, origins: impl Into<Origins>) -> Self {
        let origins = origins.into();
        let origins = if origins.is_empty() { TaintOrigin::unlabelled().into() } else { origins };
        Self { value, origins }
    }

    /// Where the value came from.
    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Derives a value; it keeps the origins.
    pub fn map<U>(self, derive: impl FnOnce(T) -> U) -> Tainted<U> {
        Tainted { value: derive(self.value), origins: self.origins }
    }

    /// Derives a value or an error, as parsing does; both keep the origins. Which of the two it was becomes known.
    ///
    /// # Errors
    /// What `derive` returned, tainted: a parser's message may quote what it read.
    pub fn try_map<U, E>(self, derive: impl FnOnce(T) -> Result<U, E>) -> Result<Tainted<U>, Tainted<E>> {
        match derive(self.value) {
            Ok(value) => Ok(Tainted { value, origins: self.origins }),
            Err(value) => Err(Tainted { value, origins: self.origins }),
        }
    }

    /// Combines two values; the result has the origins of both.
    pub fn join<U, V>(self, other: Tainted<U>, combine: impl FnOnce(T, U) -> V) -> Tainted<V> {
        let origins = self.origins.join(&other.origins);
        Tainted { value: combine(self.value, other.value), origins }
    }

    /// Adds origins: for a value that was made with the help of what has them.
    #[must_use]
    pub fn join_origins(self, origins: &Origins) -> Self {
        Self { origins: self.origins.join(origins), value: self.value }
    }

    /// A borrow that is as tainted as the value.
    pub fn as_tainted_ref(&self) -> Tainted<&T> {
        Tainted { value: &self.value, origins: self.origins.clone() }
    }

    /// The items one by one, each with all the origins. Their number becomes known.
    pub fn into_each(self) -> impl Iterator<Item = Tainted<T::Item>>
    where
        T: IntoIterator,
    {
        let Self { value, origins } = self;
        value.into_iter().map(move |value| Tainted { value, origins: origins.clone() })
    }

    /// Takes the value out of its taint. The call site is the audit trail.
    #[track_caller]
    pub fn unwrap_tainted(self) -> T {
        audit::record(Location::caller(), &self.origins, UnwrapKind::Unwrap);
        self.value
    }

    /// Looks at the value as if it were trusted. The call site is the audit trail.
    #[track_caller]
    pub fn expose_tainted(&self) -> &T {
        audit::record(Location::caller(), &self.origins, UnwrapKind::Expose);
        &self.value
    }

    /// Passes the value through a validator; what comes out is small and trusted.
    ///
    /// # Errors
    /// [`Rejected`] when the validator refuses; it never quotes the value.
    #[track_caller]
    pub fn endorse<E: Endorser<T>>(&self, endorser: &E) -> Result<E::Out, Rejected> {
        endorse_at(Location::caller(), &self.value, &self.origins, endorser)
    }

    /// For [`Fenced`](crate::Fenced), which keeps both and is guarded itself.
    pub(crate) fn into_parts(self) -> (T, Origins) {
        (self.value, self.origins)
    }
}

impl Tainted<String> {
    /// The text as a borrowed tainted string.
    #[must_use]
    pub fn as_tainted_str(&self) -> TaintedStr<'_> {
        TaintedStr::new(&self.value, &self.origins)
    }
}

impl<T> fmt::Debug for Tainted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tainted({})", self.origins)
    }
}

impl<T: Serialize> Serialize for Tainted<T> {
    /// Writes the marked wrapper, the only form there is.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wrapper = Wrapper { origins: &self.origins, value: &self.value };
        serializer.serialize_newtype_struct(OwnName::Tainted.text(), &wrapper)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tainted<T> {
    /// Reads the marked wrapper, the only form there is; bare content is refused, and no error quotes it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (origins, value) = read_wrapper(deserializer)?;
        Ok(Self::new(value, origins))
    }
}

/// Tainted text that is borrowed for the length of one delivery: two references, so that a delta costs no allocation
/// and no count. Who keeps it calls [`to_owned`](Self::to_owned), and has it tainted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TaintedStr<'a> {
    text: &'a str,
    origins: &'a Origins,
}

impl<'a> TaintedStr<'a> {
    /// Taints borrowed text.
    #[inline]
    #[must_use]
    pub const fn new(text: &'a str, origins: &'a Origins) -> Self {
        Self { text, origins }
    }

    /// Where the text came from.
    #[inline]
    #[must_use]
    pub const fn origins(&self) -> &'a Origins {
        self.origins
    }

    /// The length in bytes.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether there is no text.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A copy to keep, as tainted as this.
    #[must_use]
    pub fn to_owned(&self) -> Tainted<String> {
        Tainted::new(self.text.to_owned(), self.origins)
    }

    /// Takes the text out of its taint. The call site is the audit trail.
    #[inline]
    #[track_caller]
    #[must_use]
    pub fn unwrap_tainted(self) -> &'a str {
        audit::record(Location::caller(), self.origins, UnwrapKind::Unwrap);
        self.text
    }

    /// Looks at the text as if it were trusted. The call site is the audit trail.
    #[inline]
    #[track_caller]
    #[must_use]
    pub fn expose_tainted(&self) -> &'a str {
        audit::record(Location::caller(), self.origins, UnwrapKind::Expose);
        self.text
    }

    /// Passes the text through a validator; what comes out is small and trusted.
    ///
    /// # Errors
    /// [`Rejected`] when the validator refuses; it never quotes the text.
    #[track_caller]
    pub fn endorse<E: Endorser<str>>(&self, endorser: &E) -> Result<E::Out, Rejected> {
        endorse_at(Location::caller(), self.text, self.origins, endorser)
    }
}

impl fmt::Debug for TaintedStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaintedStr({})", self.origins)
    }
}

impl Serialize for TaintedStr<'_> {
    /// Writes the same marked wrapper as [`Tainted`].
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wrapper = Wrapper { origins: self.origins, value: self.text };
        serializer.serialize_newtype_struct(OwnName::Tainted.text(), &wrapper)
    }
}

fn endorse_at<T: ?Sized, E: Endorser<T>>(
    location: &'static Location<'static>,
    value: &T,
    origins: &Origins,
    endorser: &E,
) -> Result<E::Out, Rejected> {
    let _ = const { <E::Out as Small>::SPARE_BYTES };
    let verdict = endorser.endorse(value);
    let kind = UnwrapKind::Endorse { endorser: endorser.name(), accepted: verdict.is_ok() };
    audit::record(location, origins, kind);
    verdict
}
