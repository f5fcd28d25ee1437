//! The input of a call: typed in place, unsized for hooks.

use std::any::Any;
use std::sync::OnceLock;

use loom_classify::walk::{Visit, WalkError};
use serde_json::Value;

use super::{Data, Payload, ViewError};

/// A call's input. `Input<T>` knows its type; a hook sees `&Input`, which is `Input<dyn Payload>`.
///
/// A `#[serde(skip)]` field is not seen by hooks (`docs/limits.md`).
pub struct Input<T: ?Sized = dyn Payload> {
    json: OnceLock<Box<Value>>,
    value: T,
}

impl<T: Data> Input<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { json: OnceLock::new(), value }
    }
}

impl Input {
    /// The input as its own type, when it is a `T`.
    #[must_use]
    pub fn get<T: Data>(&self) -> Option<&T> {
        (&self.value as &dyn Any).downcast_ref()
    }

    /// The input to change as its own type, when it is a `T`. Drops the JSON view.
    pub fn get_mut<T: Data>(&mut self) -> Option<&mut T> {
        self.json.take();
        (&mut self.value as &mut dyn Any).downcast_mut()
    }

    /// The JSON view, built at the first asking (some 300 ns, 10 allocations).
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

    /// Changes the JSON view and parses it back at once, so that the hook that broke the input gets the error.
    ///
    /// # Errors
    /// [`ViewError::DoesNotFit`] when the result is not a value of the input's type; the old input stands.
    pub fn edit(&mut self, change: impl FnOnce(&mut Value)) -> Result<(), ViewError> {
        let mut json = match self.json.take() {
            Some(json) => *json,
            None => self.value.to_json()?,
        };
        change(&mut json);
        self.value.set_json(&json)
    }

    /// Shows every key, text and number of the input to `visit`, without building anything.
    ///
    /// # Errors
    /// When the value's own `Serialize` fails, nests too deep, or the visitor stops.
    pub fn walk(&self, visit: &mut dyn Visit) -> Result<(), WalkError> {
        self.value.walk(visit)
    }

    pub(crate) fn payload(&self) -> &dyn Payload {
        &self.value
    }
}

impl<T: ?Sized> std::fmt::Debug for Input<T> {
    /// Prints no content: inputs may hold what nobody should log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input(..)")
    }
}
