//! The arguments of a tool call, read: none, an object, or a typed refusal, and never a default in place of one.

use std::cell::Cell;
use std::fmt;

use loom_classify::Tainted;
use loom_effect_runtime::{CallError, ErrorName};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Number, Value};
use thiserror::Error;

use super::reply::{FinishReason, LlmReply, LlmToolCall};
use crate::chunk::ToolCall;

/// What a model gave a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolArguments {
    /// Nothing: no text, white space, or `null`. A tool that takes no arguments may run so; whether another may is for
    /// its schema, which an empty object would have been judged by too.
    None,
    /// An object, as tainted as the text it was read from.
    Object(Tainted<Value>),
}

/// Why the arguments of a tool call cannot be used. It holds no word of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ToolArgumentsError {
    /// The text breaks off: the reply reached its bound (finish reason `length`), or its stream ended too soon.
    #[error("expected a whole JSON object as tool arguments, got one that breaks off")]
    CutOff,
    /// The text is not JSON.
    #[error("expected JSON as tool arguments, got something else at line {line}, column {column}")]
    NotJson {
        /// Counted from 1.
        line: usize,
        /// In bytes, counted from 1; 0 before the first.
        column: usize,
    },
    /// The text is JSON of another kind, a text that holds JSON among them.
    #[error("expected a JSON object as tool arguments, got JSON of another kind")]
    NotAnObject,
    /// An object names a key twice, or one that readers of JSON take for their own: two readers, a guard and a tool
    /// say, would read two different values.
    #[error("expected each key once in the tool arguments, got one that readers of JSON read differently")]
    AmbiguousKey,
}

impl ToolCall {
    /// The arguments, read; `None` where there are none.
    ///
    /// # Errors
    /// [`ToolArgumentsError`] for anything but one whole JSON object whose keys are all different.
    pub fn read_arguments(&self) -> Result<Option<Value>, ToolArgumentsError> {
        read(&self.arguments)
    }
}

impl LlmToolCall {
    /// The arguments, read.
    ///
    /// Of the last call of a reply that may have been cut, [`LlmReply::read_arguments`] knows more.
    ///
    /// # Errors
    /// [`ToolArgumentsError`] for anything but one whole JSON object whose keys are all different.
    pub fn read_arguments(&self) -> Result<ToolArguments, ToolArgumentsError> {
        let read = read(self.arguments.expose_tainted())?;
        Ok(match read {
            None => ToolArguments::None,
            Some(object) => ToolArguments::Object(self.arguments.as_tainted_ref().map(|_| object)),
        })
    }
}

impl LlmReply {
    /// The arguments of each tool call, read, in their order. A last call without arguments in a reply that was cut is
    /// [`CutOff`](ToolArgumentsError::CutOff): they may have been about to come.
    pub fn read_arguments(&self) -> impl Iterator<Item = Result<ToolArguments, ToolArgumentsError>> + '_ {
        let cut = matches!(self.finish_reason, Some(FinishReason::Length | FinishReason::ContentFilter));
        let last = self.tool_calls.len().saturating_sub(1);
        self.tool_calls.iter().enumerate().map(move |(position, call)| match call.read_arguments() {
            Ok(ToolArguments::None) if cut && position == last => Err(ToolArgumentsError::CutOff),
            read => read,
        })
    }
}

impl From<ToolArgumentsError> for CallError {
    /// A failure named `OutputInvalidError`: what the model gave is not what was asked of it.
    fn from(error: ToolArgumentsError) -> Self {
        Self::with_source(ErrorName::OutputInvalid, error.to_string(), error)
    }
}

fn read(text: &str) -> Result<Option<Value>, ToolArgumentsError> {
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    let ambiguous = Cell::new(false);
    let mut source = serde_json::Deserializer::from_str(text);
    let read = Strict { ambiguous: &ambiguous }
        .deserialize(&mut source)
        .and_then(|value| source.end().map(|()| value));
    match read {
        Ok(Value::Null) => Ok(None),
        Ok(object @ Value::Object(_)) => Ok(Some(object)),
        Ok(_) => Err(ToolArgumentsError::NotAnObject),
        Err(_) if ambiguous.get() => Err(ToolArgumentsError::AmbiguousKey),
        Err(error) if error.classify() == Category::Eof => Err(ToolArgumentsError::CutOff),
        Err(error) => Err(ToolArgumentsError::NotJson { line: error.line(), column: error.column() }),
    }
}

/// Where the keys begin by which `serde_json` marks values of its own.
const RESERVED_KEY_PREFIX: &str = "$serde_json::private::";

/// Reads a value as it stands, and refuses a key that comes twice.
#[derive(Clone, Copy)]
struct Strict<'c> {
    ambiguous: &'c Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key.starts_with(RESERVED_KEY_PREFIX) || object.contains_key(&key) {
                self.ambiguous.set(true);
                return Err(de::Error::custom("an ambiguous key"));
            }
            let value = entries.next_value_seed(self)?;
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use loom_classify::TaintOrigin;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read_text(text: &str) -> Result<Option<Value>, ToolArgumentsError> {
        let call = ToolCall { arguments: text.to_owned(), ..ToolCall::default() };
        let read = call.read_arguments();
        let arguments = Tainted::new(text.to_owned(), TaintOrigin::llm("ask"));
        let tainted = LlmToolCall { id: None, name: None, arguments }.read_arguments();
        let bare = tainted.map(|read| match read {
            ToolArguments::None => None,
            ToolArguments::Object(object) => {
                assert!(object.origins().contains(&TaintOrigin::llm("ask")));
                Some(object.unwrap_tainted())
            }
        });
        assert_eq!(read, bare, "both readings are one");
        read
    }

    #[test]
    fn no_arguments_are_none_and_an_object_is_an_object() {
        for none in ["", " ", "\n\t\r ", "null", " null "] {
            assert_eq!(read_text(none), Ok(None), "{none:?}");
        }
        assert_eq!(read_text("{}"), Ok(Some(json!({}))));
        let nested = json!({"a": [1, -2, 0.5, null, true, "é\"", {}], "b": {"a": 1, "": "x"}});
        assert_eq!(read_text(&format!(" {nested}\n")), Ok(Some(nested)));
    }

    /// Complaint 13, arguments that cannot be read become `{}`: each is refused by what is wrong with it.
    #[test]
    fn what_is_not_one_whole_object_is_refused() {
        use ToolArgumentsError::{AmbiguousKey, CutOff, NotAnObject, NotJson};
        let at = |line, column| NotJson { line, column };
        for (text, expected) in [
            ("{", CutOff),
            ("{\"a\": tru", CutOff),
            ("{\"a\": \"\\u00", CutOff),
            ("nul", CutOff),
            ("{}{}", at(1, 3)),
            ("{\"a\":1}{\"a\":2}", at(1, 8)),
            ("{\n a: 1}", at(2, 2)),
            ("{'a': 1}", at(1, 2)),
            ("{\"a\": 1,}", at(1, 9)),
            ("{\"a\": 1e999}", at(1, 11)),
            ("```json\n{}\n```", at(1, 1)),
            ("[]", NotAnObject),
            ("[{}]", NotAnObject),
            ("7", NotAnObject),
            ("\"\"", NotAnObject),
            ("\"{\\\"a\\\": 1}\"", NotAnObject),
            ("{\"a\": 1, \"a\": 1}", AmbiguousKey),
            ("{\"a\": 1, \"\\u0061\": 2}", AmbiguousKey),
            ("{\"x\": [{\"a\": {\"b\": 1, \"b\": 2}}]}", AmbiguousKey),
            ("{\"$serde_json::private::RawValue\": \"{}\"}", AmbiguousKey),
        ] {
            assert_eq!(read_text(text), Err(expected), "{text}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(300), "}".repeat(300));
        assert!(matches!(read_text(&deep), Err(NotJson { .. })), "depth is bounded");
    }

    #[test]
    fn a_refusal_is_an_invalid_output_and_says_nothing_of_the_text() {
        let canary = "{\"canary\": 1, \"canary\": }";
        let error = CallError::from(read_text(canary).unwrap_err());
        assert_eq!(error.name(), ErrorName::OutputInvalid);
        assert_eq!(error.name().as_str(), "OutputInvalidError");
        assert!(!format!("{error} {error:?}").contains("canary"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::from),
            "\\PC{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    fn any_object() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("\\PC{0,4}", any_json(), 0..4)
            .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into())
    }

    proptest! {
        /// Complaint 13: no part of an object's text reads as arguments, an empty object among them.
        #[test]
        fn a_prefix_of_an_object_is_cut_off_and_never_an_object(object in any_object(), pretty in any::<bool>()) {
            let whole = if pretty { serde_json::to_string_pretty(&object).unwrap() } else { object.to_string() };
            prop_assert_eq!(read_text(&whole), Ok(Some(serde_json::from_str(&whole).unwrap())));
            for (at, _) in whole.char_indices().skip(1) {
                prop_assert_eq!(read_text(&whole[..at]), Err(ToolArgumentsError::CutOff), "{}", &whole[..at]);
            }
        }

        /// What is read is what any reader reads, where anything is.
        #[test]
        fn a_reading_is_the_one_that_everyone_has(text in "[{}\\[\\]:,\"a01 nul-]{0,12}") {
            if let Ok(Some(object)) = read_text(&text) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), object);
            }
        }
    }
}
