//! The tools that a model is told of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name that the model calls it by. Most providers take letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does and when to call it; never tainted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub parameters: Value,
}

impl ToolSpec {
    /// A tool with that name, purpose and schema.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: description.into(), parameters }
    }
}

/// Whether the model calls tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// It decides.
    Auto,
    /// It calls none.
    None,
    /// It calls at least one.
    Required,
    /// It calls this one.
    Named(String),
}
