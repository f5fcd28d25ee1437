//! The output of a call: a place in the caller's frame that only an inspecting middleware may look into.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use loom_classify::walk::{Visit, WalkError, walk};
use serde_json::Value;

use super::{Data, ViewError, parse};
use crate::error::CallError;
use crate::names::ErrorName;

/// A call's output as an [`OutputMiddleware`](crate::OutputMiddleware) sees it.
///
/// Nobody else is ever handed one: that is how a middleware that has not declared inspection is kept from
/// reading, replacing or rejecting output by its content (spec row D14).
pub struct Output<T: ?Sized = dyn Place> {
    json: OnceLock<Box<Value>>,
    value: T,
}

impl<O: Data> Output<Option<O>> {
    pub(crate) fn empty() -> Self {
        Self { json: OnceLock::new(), value: None }
    }

    /// Takes the output of a call that succeeded.
    pub(crate) fn take(&mut self) -> Result<O, CallError> {
        self.value.take().ok_or_else(no_output)
    }
}

impl Output {
    /// The output as its own type, when it is a `T`.
    #[must_use]
    pub fn get<T: Data>(&self) -> Option<&T> {
        (&self.value as &dyn Any).downcast_ref::<Option<T>>()?.as_ref()
    }

    /// The output to change as its own type, when it is a `T`. Drops the JSON view.
    pub fn get_mut<T: Data>(&mut self) -> Option<&mut T> {
        self.json.take();
        (&mut self.value as &mut dyn Any).downcast_mut::<Option<T>>()?.as_mut()
    }

    /// The JSON view, built at the first asking.
    ///
    /// # Errors
    /// [`ViewError::NotJson`] when the value's own `Serialize` fails.
    pub fn json(&self) -> Result<&Value, ViewError> {
        if let Some(json) = self.json.get() {
            return Ok(json);
        }
        let json = Box::new(self.value.to_json()?);
        Ok(self.json.get_or_init(|| json))
    }

    /// Changes the JSON view and parses it back at once.
    ///
    /// # Errors
    /// [`ViewError::DoesNotFit`] when the result is not a value of the output's type; the old output stands.
    pub fn edit(&mut self, change: impl FnOnce(&mut Value)) -> Result<(), ViewError> {
        let mut json = match self.json.take() {
            Some(json) => *json,
            None => self.value.to_json()?,
        };
        change(&mut json);
        self.value.set_json(&json)
    }

    /// Shows every key, text and number of the output to `visit`, without building anything.
    ///
    /// # Errors
    /// When the value's own `Serialize` fails, nests too deep, or the visitor stops.
    pub fn walk(&self, visit: &mut dyn Visit) -> Result<(), WalkError> {
        self.value.walk(visit)
    }

    pub(crate) fn put<T: Data>(&mut self, output: T) -> bool {
        self.json.take();
        match (&mut self.value as &mut dyn Any).downcast_mut::<Option<T>>() {
            Some(place) => {
                *place = Some(output);
                true
            }
            None => false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.json.take();
        self.value.clear();
    }

    pub(crate) fn keep(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.value.keep()
    }

    pub(crate) fn restore(&mut self, kept: &(dyn Any + Send + Sync)) -> bool {
        self.json.take();
        self.value.restore(kept)
    }
}

impl<T: ?Sized> std::fmt::Debug for Output<T> {
    /// Prints no content.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output(..)")
    }
}

#[cold]
fn no_output() -> CallError {
    CallError::named(ErrorName::OutputInvalid, "the call succeeded without an output")
}

/// The erased place an output is written to. Sealed: `Option<T>` of every [`Data`] is one.
pub trait Place: Any + Send + Sync + sealed::Sealed {
    #[doc(hidden)]
    fn walk(&self, visit: &mut dyn Visit) -> Result<(), WalkError>;
    #[doc(hidden)]
    fn to_json(&self) -> Result<Value, ViewError>;
    #[doc(hidden)]
    fn set_json(&mut self, json: &Value) -> Result<(), ViewError>;
    #[doc(hidden)]
    fn clear(&mut self);
    #[doc(hidden)]
    fn keep(&self) -> Option<Arc<dyn Any + Send + Sync>>;
    #[doc(hidden)]
    fn restore(&mut self, kept: &(dyn Any + Send + Sync)) -> bool;
}

impl<O: Data> Place for Option<O> {
    fn walk(&self, visit: &mut dyn Visit) -> Result<(), WalkError> {
        match self {
            Some(output) => walk(output, visit),
            None => Ok(()),
        }
    }

    fn to_json(&self) -> Result<Value, ViewError> {
        let output = self.as_ref().ok_or(ViewError::Empty)?;
        serde_json::to_value(output).map_err(|_| ViewError::NotJson)
    }

    fn set_json(&mut self, json: &Value) -> Result<(), ViewError> {
        *self = Some(parse(json)?);
        Ok(())
    }

    fn clear(&mut self) {
        *self = None;
    }

    fn keep(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(self.clone()?))
    }

    fn restore(&mut self, kept: &(dyn Any + Send + Sync)) -> bool {
        match kept.downcast_ref::<O>() {
            Some(output) => {
                *self = Some(output.clone());
                true
            }
            None => false,
        }
    }
}

mod sealed {
    /// Kept private: who could implement a place could read outputs without declaring inspection.
    pub trait Sealed {}
    impl<O: super::Data> Sealed for Option<O> {}
}
