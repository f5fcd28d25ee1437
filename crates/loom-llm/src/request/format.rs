//! The form that a reply must have.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form that a reply must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// JSON that fits a schema. Providers differ in how far they hold to it: validate the reply.
    JsonSchema {
        /// The schema and its name.
        json_schema: JsonSchema,
    },
}

/// A JSON schema with the name that the provider is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JsonSchema {
    /// The name.
    pub name: String,
    /// The schema.
    pub schema: Value,
    /// Whether the provider shall refuse what does not fit.
    #[serde(default)]
    pub strict: bool,
}

impl ResponseFormat {
    /// JSON that strictly fits the named schema.
    #[must_use]
    pub fn json_schema(name: impl Into<String>, schema: Value) -> Self {
        Self::JsonSchema { json_schema: JsonSchema { name: name.into(), schema, strict: true } }
    }
}
