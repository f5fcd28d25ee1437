//! The arguments of a tool call, as the model wrote them.

use loom_classify::Tainted;
use loom_classify::endorse::Rejected;
use loom_llm::ToolArguments;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a model passed to a tool, to read fields from. Everything in it is tainted by the model (spec row D9).
///
/// A field is read as a tainted value of its type, and leaves its taint through an endorser, into a
/// [`Fenced`](loom_classify::Fenced) field of the tool's input, or by an explicit unwrap.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    given: ToolArguments,
}

impl Arguments {
    pub(crate) fn new(given: ToolArguments) -> Self {
        Self { given }
    }

    /// What was passed: an object, or nothing at all, which is another thing than an empty object.
    #[must_use]
    pub fn given(&self) -> &ToolArguments {
        &self.given
    }

    /// The whole object; absent where the model passed nothing.
    #[must_use]
    pub fn object(&self) -> Option<&Tainted<Value>> {
        match &self.given {
            ToolArguments::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The field of that name.
    ///
    /// # Errors
    /// [`Rejected`] when there is none, or it is not of that type.
    pub fn field<T: DeserializeOwned>(&self, name: &str) -> Result<Tainted<T>, Rejected> {
        self.optional(name)?.ok_or(Rejected::new("arguments", "a field of that name"))
    }

    /// The field of that name, where there is one; `null` counts as none.
    ///
    /// # Errors
    /// [`Rejected`] when it is not of that type.
    pub fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<Tainted<T>>, Rejected> {
        let Some(object) = self.object() else { return Ok(None) };
        let named = |object: &Value| object.get(name).filter(|value| !value.is_null()).cloned().ok_or(());
        let Ok(value) = object.as_tainted_ref().try_map(named) else { return Ok(None) };
        let unfit = |_| Rejected::new("arguments", "a field of the type that the tool takes");
        value.try_map(|value| serde_json::from_value(value)).map(Some).map_err(unfit)
    }
}
