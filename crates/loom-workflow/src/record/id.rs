//! The names inside a journal: short texts without the two signs that step paths use.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most bytes an id may have.
pub const ID_BYTES_MAX: usize = 128;

/// The most levels a step path may have.
pub const PATH_LEVELS_MAX: usize = 32;

/// Why a text is no id or no step path; it never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// There is nothing in it.
    #[error("expected an id of 1 to {ID_BYTES_MAX} bytes, got an empty one")]
    Empty,
    /// It is longer than [`ID_BYTES_MAX`].
    #[error("expected an id of 1 to {ID_BYTES_MAX} bytes, got {bytes}")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// It holds `/`, `~` or a control character.
    #[error("expected an id without `/`, `~` and control characters, got one at byte {at}")]
    Reserved {
        /// The byte offset of the first such character.
        at: usize,
    },
    /// A path's `~n` is not a number from 2 in plain decimal.
    #[error("expected `~n` with n from 2 at path level {level}")]
    Ordinal {
        /// The level, from 1.
        level: usize,
    },
    /// A path is deeper than [`PATH_LEVELS_MAX`].
    #[error("expected a path of 1 to {PATH_LEVELS_MAX} levels, got more")]
    TooDeep,
}

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks a text and makes it an id.
            ///
            /// # Errors
            /// [`IdError`] when the text is empty, too long, or holds `/`, `~` or a control character.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                checked(text.as_ref()).map(|text| Self(Arc::from(text)))
            }

            /// The id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_traits!($name);
    };
}

macro_rules! text_traits {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

id! {
    /// Names one execution for its whole life; [`ExecutionId::mint`] makes one, any valid id is accepted.
    ExecutionId
}

impl ExecutionId {
    /// A fresh id: a UUIDv7 as text, so that ids sort by the time they were made.
    pub fn mint() -> Self {
        Self(Arc::from(uuid::Uuid::now_v7().to_string()))
    }
}

id! {
    /// Names a step within its parent; a deliberate retry mints a new one (`hydrate#3#repair`).
    StepId
}
id! {
    /// Names a decision of a flow.
    DecisionId
}
id! {
    /// Names a flow: what an execution runs.
    FlowName
}

/// Where in a flow something happened: `/` separates levels, `~n` marks the n-th use of one id, `a/b~2`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepPath(Arc<str>);

impl StepPath {
    /// Reads a path's canonical text; the first use of an id is written without `~1`.
    ///
    /// # Errors
    /// [`IdError`] when a level is no id, its ordinal is not canonical, or the path is too deep.
    pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
        let text = text.as_ref();
        for (level, part) in text.split('/').enumerate() {
            if level >= PATH_LEVELS_MAX {
                return Err(IdError::TooDeep);
            }
            let (id, ordinal) = part.split_once('~').map_or((part, None), |(id, n)| (id, Some(n)));
            checked(id)?;
            if let Some(n) = ordinal
                && !n.parse::<u32>().is_ok_and(|value| value >= 2 && value.to_string() == n)
            {
                return Err(IdError::Ordinal { level: level + 1 });
            }
        }
        Ok(Self(Arc::from(text)))
    }

    /// The path of a step directly under the flow: its `nth` use, from 1 (0 reads as 1).
    pub fn root(id: &StepId, nth: u32) -> Self {
        Self(Arc::from(level(id, nth)))
    }

    /// The path of a step under this one: its `nth` use here, from 1 (0 reads as 1).
    ///
    /// # Errors
    /// [`IdError::TooDeep`] when this path already has [`PATH_LEVELS_MAX`] levels.
    pub fn child(&self, id: &StepId, nth: u32) -> Result<Self, IdError> {
        if self.0.split('/').count() >= PATH_LEVELS_MAX {
            return Err(IdError::TooDeep);
        }
        Ok(Self(Arc::from(format!("{}/{}", self.0, level(id, nth)))))
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

text_traits!(StepPath);

fn level(id: &StepId, nth: u32) -> String {
    if nth <= 1 { id.to_string() } else { format!("{id}~{nth}") }
}

fn checked(text: &str) -> Result<&str, IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > ID_BYTES_MAX {
        return Err(IdError::TooLong { bytes: text.len() });
    }
    match text.find(|c: char| c == '/' || c == '~' || c.is_control()) {
        Some(at) => Err(IdError::Reserved { at }),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_1_to_128_bytes_without_the_path_signs() {
        assert!(ExecutionId::new("a".repeat(128)).is_ok());
        assert_eq!(ExecutionId::new("a".repeat(129)), Err(IdError::TooLong { bytes: 129 }));
        assert_eq!(StepId::new(""), Err(IdError::Empty));
        assert_eq!(StepId::new("a/b"), Err(IdError::Reserved { at: 1 }));
        assert_eq!(StepId::new("a~2"), Err(IdError::Reserved { at: 1 }));
        assert_eq!(StepId::new("a\nb"), Err(IdError::Reserved { at: 1 }));
        assert!(serde_json::from_str::<FlowName>("\"a/b\"").is_err());
        assert_ne!(ExecutionId::mint(), ExecutionId::mint());
    }

    /// T5: a deliberate retry has a name of its own, and the n-th use of one id a path of its own.
    #[test]
    fn a_step_path_has_one_spelling() {
        let step = StepId::new("hydrate#3#repair").unwrap();
        let path = StepPath::root(&StepId::new("a").unwrap(), 1).child(&step, 2).unwrap();
        assert_eq!(path.as_str(), "a/hydrate#3#repair~2");
        assert_eq!(StepPath::new(path.as_str()), Ok(path));
        for text in ["", "a/", "/a", "a~1", "a~0", "a~02", "a~", "a~2~3", "a~+2", "a~99999999999"] {
            assert!(StepPath::new(text).is_err(), "{text} was accepted");
        }
        assert!(StepPath::new(["a"; 32].join("/")).unwrap().child(&step, 1).is_err());
    }
}
