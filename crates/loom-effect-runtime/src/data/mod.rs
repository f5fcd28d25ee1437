//! Typed data and its two erased views: what hooks read, and the JSON form built only when somebody asks.

mod canonical;
mod input;
mod output;

use std::any::Any;

use loom_classify::Origins;
use loom_classify::guard::{RequestError, RequestLimits, guard_request};
use loom_classify::walk::{Visit, WalkError, walk};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use canonical::{from_json, push_text};
pub use input::Input;
pub use output::{Output, Place};

/// What an effect takes or gives. Implemented for every type that fits; nothing to write.
///
/// `Clone` serves memos, serde serves the JSON view, the journal and replay.
pub trait Data: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Data for T {}

/// The JSON view could not be made, or what was put into it does not fit the type.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The value's own `Serialize` failed.
    #[error("the value has no JSON form")]
    NotJson,
    /// The edited JSON is not a value of the expected type; the old value stands.
    #[error("the edited JSON does not fit `{expected}`")]
    DoesNotFit {
        /// The name of the Rust type that was expected.
        expected: &'static str,
    },
    /// The output was read before the effect had given one.
    #[error("there is no output yet")]
    Empty,
}

/// A value as hooks see it, whatever its type. Sealed: every [`Data`] is one.
pub trait Payload: Any + Send + Sync + sealed::Sealed {
    /// Shows every key, text and number to `visit` without building anything.
    ///
    /// # Errors
    /// When the value's own `Serialize` fails, nests too deep, or the visitor stops.
    fn walk(&self, visit: &mut dyn Visit) -> Result<(), WalkError>;

    #[doc(hidden)]
    fn guard(&self, limits: &RequestLimits) -> Result<Option<Origins>, RequestError>;

    /// Appends the canonical bytes. False where only the JSON view has them; a part of them may stand then.
    #[doc(hidden)]
    fn canonical(&self, out: &mut Vec<u8>) -> bool;

    #[doc(hidden)]
    fn to_json(&self) -> Result<Value, ViewError>;

    #[doc(hidden)]
    fn set_json(&mut self, json: &Value) -> Result<(), ViewError>;
}

impl<T: Data> Payload for T {
    fn walk(&self, visit: &mut dyn Visit) -> Result<(), WalkError> {
        walk(self, visit)
    }

    #[inline]
    fn guard(&self, limits: &RequestLimits) -> Result<Option<Origins>, RequestError> {
        let guarded = guard_request(self, limits)?;
        Ok((!guarded.fenced.is_empty()).then_some(guarded.fenced))
    }

    fn canonical(&self, out: &mut Vec<u8>) -> bool {
        canonical::from_value(self, out)
    }

    fn to_json(&self) -> Result<Value, ViewError> {
        serde_json::to_value(self).map_err(|_| ViewError::NotJson)
    }

    fn set_json(&mut self, json: &Value) -> Result<(), ViewError> {
        *self = parse(json)?;
        Ok(())
    }
}

/// Parses a JSON view into a type; the parser's own message may quote content, so it is dropped.
pub(crate) fn parse<T: DeserializeOwned>(json: &Value) -> Result<T, ViewError> {
    T::deserialize(json)
        .map_err(|_: serde_json::Error| ViewError::DoesNotFit { expected: std::any::type_name::<T>() })
}

mod sealed {
    /// Kept private: a payload's methods are the runtime's contract with itself and may grow.
    pub trait Sealed {}
    impl<T: super::Data> Sealed for T {}
}
