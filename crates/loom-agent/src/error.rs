//! Why a run came to no end of the model's own, and why a runner cannot be built.

use std::error::Error;
use std::fmt;

use loom_effect_runtime::{CallError, ErrorName, Refusal};
use loom_llm::{LlmReply, ToolArgumentsError};

use crate::limits::{RESULT_BYTES_MAX, TOOLS_MAX};
use crate::outcome::AgentReport;

/// A run that was ended: by a failed call or at a limit. What it had come to by then is kept.
///
/// As a [`CallError`] it is the failed call's own error, and at a limit `QuotaExceededError` by a rule such as
/// `agent.steps`, so that `?` in a decider keeps the name (spec row T11).
#[derive(Clone, Debug)]
pub struct AgentError {
    // Boxed so that the error path does not widen every result.
    inner: Box<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    fault: AgentFault,
    reply: Option<LlmReply>,
    report: AgentReport,
}

/// What ended a run.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentFault {
    /// A model call failed, or was refused, severed or aborted.
    #[error("a model call failed: {0}")]
    Model(CallError),
    /// A tool call was refused, severed or aborted. It is not told to the model (spec row T11).
    #[error("a call of tool `{tool}` was refused: {error}")]
    ToolRefused {
        /// The tool's name, as it was registered with the runner.
        tool: String,
        /// The call's own error.
        error: CallError,
    },
    /// So many tool calls in a row failed.
    #[error("{in_a_row} tool calls in a row failed, the last one with: {error}")]
    ToolFailures {
        /// How many.
        in_a_row: u32,
        /// The last one.
        error: CallError,
    },
    /// The model would have gone on after the last model call that the run may make.
    #[error("expected an answer within {max} model calls")]
    StepLimit {
        /// The limit.
        max: u32,
    },
    /// The model asked for more tool calls than the run may make.
    #[error("expected at most {max} tool calls in the run, got {asked}")]
    ToolCallLimit {
        /// The limit.
        max: u32,
        /// Those asked for.
        asked: u32,
    },
    /// The model asked for more tool calls than one step may make.
    #[error("expected at most {max} tool calls in one step, got {asked}")]
    StepToolCallLimit {
        /// The limit.
        max: u32,
        /// Those asked for.
        asked: u32,
    },
    /// The run would have gone on after its tokens were used up.
    #[error("expected at most {max} tokens in the run, got {used}")]
    TokenLimit {
        /// The limit.
        max: u64,
        /// Those used, as reported, or by the bytes where nothing was reported.
        used: u64,
    },
    /// The reply was cut, or filtered, while it called tools: nobody knows what it would have called.
    #[error("the reply was cut while it called tools; none of them was called")]
    CutToolCalls,
}

impl AgentError {
    pub(crate) fn new(fault: AgentFault, reply: Option<LlmReply>, report: AgentReport) -> Self {
        Self { inner: Box::new(Inner { fault, reply, report }) }
    }

    /// What ended the run.
    #[must_use]
    pub fn fault(&self) -> &AgentFault {
        &self.inner.fault
    }

    /// What the run had come to by then.
    #[must_use]
    pub fn report(&self) -> &AgentReport {
        &self.inner.report
    }

    /// The last reply, where there was one.
    #[must_use]
    pub fn reply(&self) -> Option<&LlmReply> {
        self.inner.reply.as_ref()
    }
}

impl AgentFault {
    /// The failed call's own error, where a call failed.
    #[must_use]
    pub fn call_error(&self) -> Option<&CallError> {
        match self {
            Self::Model(error) | Self::ToolRefused { error, .. } | Self::ToolFailures { error, .. } => {
                Some(error)
            }
            _ => None,
        }
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fault.fmt(f)
    }
}

impl Error for AgentError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.fault.call_error().map(|error| error as &(dyn Error + 'static))
    }
}

impl From<AgentError> for CallError {
    fn from(error: AgentError) -> Self {
        let rule = match error.inner.fault {
            AgentFault::Model(error)
            | AgentFault::ToolRefused { error, .. }
            | AgentFault::ToolFailures { error, .. } => return error,
            AgentFault::CutToolCalls => {
                return Self::named(
                    ErrorName::OutputInvalid,
                    "the model's reply was cut while it called tools",
                );
            }
            AgentFault::StepLimit { .. } => "agent.steps",
            AgentFault::ToolCallLimit { .. } => "agent.tool_calls",
            AgentFault::StepToolCallLimit { .. } => "agent.step_tool_calls",
            AgentFault::TokenLimit { .. } => "agent.tokens",
        };
        Refusal::quota(rule).into()
    }
}

/// A runner cannot be built so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentBuildError {
    /// Two tools have one name.
    #[error("two tools are named `{name}`")]
    DuplicateTool {
        /// The name.
        name: String,
    },
    /// A name that not every provider takes.
    #[error("`{name}` names no tool: expected 1 to 64 letters, digits, `_` and `-`")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// More tools than a runner takes.
    #[error("expected at most {TOOLS_MAX} tools, got {tools}")]
    TooManyTools {
        /// Those given.
        tools: usize,
    },
    /// The template demands a call of a tool that the runner does not have.
    #[error("expected a tool `{name}`, of which the template demands a call")]
    UnknownTool {
        /// The name.
        name: String,
    },
    /// The template demands a tool call, and there is no tool.
    #[error("expected a tool, since the template demands a tool call")]
    NoTools,
}

/// A failure of a tool call that is the runner's own finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswerable {
    UnknownTool,
    UnfitArguments,
    ArgumentsPanicked,
    NoText,
    TooLong,
}

impl From<Unanswerable> for CallError {
    #[cold]
    fn from(unanswerable: Unanswerable) -> Self {
        match unanswerable {
            Unanswerable::UnknownTool => Self::named(
                ErrorName::ToolNotFound,
                "the model asked for a tool that the runner does not have",
            ),
            Unanswerable::UnfitArguments => {
                Self::named(ErrorName::InputInvalid, "the model's arguments are not what the tool takes")
            }
            Unanswerable::ArgumentsPanicked => {
                Self::named(ErrorName::InputInvalid, "reading the model's arguments panicked")
            }
            Unanswerable::NoText => {
                Self::named(ErrorName::OutputInvalid, "the tool's output has no JSON form to show the model")
            }
            Unanswerable::TooLong => Self::named(
                ErrorName::OutputInvalid,
                format!("the tool's output is longer than {RESULT_BYTES_MAX} bytes"),
            ),
        }
    }
}

/// Arguments that cannot be read: to the tool they are its input, so that is what is told to be wrong.
#[cold]
pub(crate) fn malformed(error: ToolArgumentsError) -> CallError {
    CallError::with_source(ErrorName::InputInvalid, "the model's arguments cannot be read", error)
}
