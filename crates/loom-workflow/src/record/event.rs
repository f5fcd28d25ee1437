//! The events of a journal, version 2: one declaration makes types, stable texts and the catalogue.
//!
//! The catalogue is generated from the same lines as the types, so it cannot drift from them, and a golden
//! text pins it: a change without a new version fails a test (T18).

use std::fmt::{self, Write as _};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{DecisionId, FlowName, RecordFault};

/// The version of the event list; it rises with every change of a kind or a field.
pub const EVENT_SCHEMA_VERSION: u32 = 2;

/// One field of a recorded shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldShape {
    /// Its name, in Rust and in JSON.
    pub name: &'static str,
    /// Its type.
    pub ty: &'static str,
    /// Whether it is left out when there is nothing to say.
    pub optional: bool,
}

/// One recorded shape: an event kind, or a part that events hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// The kind's stable text, or the part's type name.
    pub name: &'static str,
    /// Its fields in order.
    pub fields: &'static [FieldShape],
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for field in self.fields {
            let mark = if field.optional { "?" } else { "" };
            write!(f, " {}{mark}:{}", field.name, field.ty)?;
        }
        Ok(())
    }
}

macro_rules! recorded {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$rmeta:meta])* $req:ident: $rty:ty,)*
        $(; $($(#[$ometa:meta])* $opt:ident: $oty:ty,)*)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$rmeta])* pub $req: $rty,)*
            $($($(#[$ometa])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $opt: Option<$oty>,)*)?
        }

        impl $name {
            const FIELDS: &'static [FieldShape] = &[
                $(FieldShape { name: stringify!($req), ty: stringify!($rty), optional: false },)*
                $($(FieldShape { name: stringify!($opt), ty: stringify!($oty), optional: true },)*)?
            ];

            /// Takes the fields that are always there; the optional ones start empty.
            pub fn new($($req: $rty),*) -> Self {
                Self { $($req,)* $($($opt: None,)*)? }
            }
        }
    };
}

macro_rules! events {
    ($($(#[$meta:meta])* $name:ident = $text:literal { $($body:tt)* })*) => {
        $(recorded! { $(#[$meta])* $name { $($body)* } }

        impl From<$name> for Event {
            fn from(event: $name) -> Self {
                Self::$name(event)
            }
        })*

        /// What can happen in an execution.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event {
            $($(#[$meta])* $name($name),)*
        }

        /// The kind of an [`Event`], with a stable text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$meta])* $name,)*
        }

        impl EventKind {
            /// Every kind, in the catalogue's order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable text that journals hold.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }

        impl Event {
            /// Every kind with its fields, then the parts that fields are made of.
            pub const CATALOGUE: &'static [Shape] = &[
                $(Shape { name: $text, fields: $name::FIELDS },)*
                Shape { name: "FailureRecord", fields: FailureRecord::FIELDS },
                Shape { name: "SeverRecord", fields: SeverRecord::FIELDS },
                Shape { name: "UsageRecord", fields: UsageRecord::FIELDS },
            ];

            /// The event's kind.
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$name(_) => EventKind::$name,)*
                }
            }

            pub(super) fn to_json(&self) -> Result<String, serde_json::Error> {
                match self {
                    $(Self::$name(event) => serde_json::to_string(event),)*
                }
            }

            pub(super) fn from_json(kind: EventKind, json: &str) -> Result<Self, RecordFault> {
                let mut json = serde_json::Deserializer::from_str(json);
                json.disable_recursion_limit();
                let event = match kind {
                    $(EventKind::$name => $name::deserialize(&mut json).map(Self::$name),)*
                };
                event.and_then(|event| json.end().map(|()| event)).map_err(|_| RecordFault::Payload)
            }
        }
    };
}

recorded! {
    /// A failure as a journal keeps it: names and numbers, never content, but for a typed failure's payload.
    FailureRecord {
        /// The stable name.
        name: String,
        ;
        /// A typed failure's channel.
        channel: String,
        /// A typed failure's payload.
        #[serde(deserialize_with = "present")]
        payload: Value,
        /// What the name leaves open, as a stable text (`cancel`, `deadline`, `severed`).
        kind: String,
        /// The rule that refused the call or severed its stream.
        sever: SeverRecord,
        /// What its raiser said about trying again, as a stable text (`after`, `retry`, `never`).
        advice: String,
        /// How long a retry was asked to wait, in nanoseconds.
        retry_after_ns: u64,
    }
}

recorded! {
    /// What a guard or hook refused by: which rule, and where if it judged a text; never the text.
    SeverRecord {
        /// The rule's name.
        rule: String,
        ;
        /// Where the match begins, in code points of the original.
        offset: u64,
        /// How long it is, in code points.
        length: u64,
    }
}

recorded! {
    /// What a provider said a call used; absent means unknown, never zero.
    UsageRecord {
        ;
        /// Tokens read.
        input_tokens: u64,
        /// Tokens written.
        output_tokens: u64,
    }
}

impl Default for UsageRecord {
    /// Nothing is known.
    fn default() -> Self {
        Self::new()
    }
}

/// Why an execution ends before its flow does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CancelKind {
    /// Somebody asked.
    Cancel,
    /// Its deadline passed.
    Deadline,
}

events! {
    /// An execution began: what it runs, on what, at which revision of the code.
    ExecutionStarted = "EXECUTION_STARTED" {
        /// The flow.
        flow: FlowName,
        /// The code's revision, pinned for the execution's life.
        revision: String,
        /// The flow's input.
        input: Value,
        ;
        /// When the execution must have ended, in Unix milliseconds.
        deadline_at_ms: u64,
        /// Who the execution runs as, in the engine's own form; never a secret.
        #[serde(deserialize_with = "present")]
        identity: Value,
    }
    /// A journaled effect is about to run; a crash after it leaves the step's outcome open.
    StepStarted = "STEP_STARTED" {
        /// The effect's tool id.
        tool: String,
    }
    /// A step's effect succeeded.
    StepCompleted = "STEP_COMPLETED" {
        /// What it returned.
        output: Value,
        /// How often it was tried, from 1.
        attempts: u32,
        ;
        /// What it used, as far as the provider said.
        usage: UsageRecord,
    }
    /// A step's effect failed for good.
    StepFailed = "STEP_FAILED" {
        /// Why.
        failure: FailureRecord,
        /// How often it was tried, from 1.
        attempts: u32,
        ;
        /// What it used, as far as the provider said.
        usage: UsageRecord,
    }
    /// A decider settled; its return value and nothing else of it is kept (D5).
    DecisionRecorded = "DECISION_RECORDED" {
        /// The decision.
        decision: DecisionId,
        /// What the decider returned.
        value: Value,
    }
    /// The flow said something about its domain.
    DomainEvent = "DOMAIN_EVENT" {
        /// The event's name in the domain.
        name: String,
        /// Its content.
        payload: Value,
    }
    /// A durable step was refused before it ran; its input is not kept (T13).
    EffectDenied = "EFFECT_DENIED" {
        /// The refusal's stable name.
        name: String,
        /// The tool that was asked for.
        tool: String,
        /// The principals, from the one who acts to the one it acts for.
        chain: Vec<String>,
        ;
        /// The grant that was missing.
        missing_grant: String,
    }
    /// The execution is to end; its consequences follow.
    CancelRequested = "CANCEL_REQUESTED" {
        /// Why.
        kind: CancelKind,
    }
    /// The flow returned.
    ExecutionCompleted = "EXECUTION_COMPLETED" {
        /// What it returned.
        output: Value,
    }
    /// The flow failed.
    ExecutionFailed = "EXECUTION_FAILED" {
        /// Why.
        failure: FailureRecord,
    }
    /// The execution was cancelled.
    ExecutionCancelled = "EXECUTION_CANCELLED" {
        /// Why.
        kind: CancelKind,
    }
}

impl ExecutionStarted {
    /// Whether the other start asks for the same: flow and input are equal (T4).
    pub fn same_request(&self, other: &Self) -> bool {
        self.flow == other.flow && self.input == other.input
    }
}

impl EventKind {
    /// The kind with this stable text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }

    /// Whether an execution is over after it.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::ExecutionCompleted | Self::ExecutionFailed | Self::ExecutionCancelled)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Event {
    /// The catalogue as text: the version, then a line a shape (T18).
    pub fn catalogue_text() -> String {
        let mut text = format!("events v{EVENT_SCHEMA_VERSION}\n");
        for shape in Self::CATALOGUE {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{shape}");
        }
        text
    }
}

/// Keeps a JSON null that is there apart from a field that is not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
