//! What a run may use.

use serde::{Deserialize, Serialize};

/// The most model calls of a run, unless it says otherwise.
pub const STEPS_MAX_DEFAULT: u32 = 8;
/// The most tool calls that a model may ask for in a run, unless it says otherwise.
pub const TOOL_CALLS_MAX_DEFAULT: u32 = 64;
/// The most tool calls that a model may ask for in one step, unless the run says otherwise.
pub const STEP_TOOL_CALLS_MAX_DEFAULT: u32 = 16;
/// The most tokens of a run, requests and replies together, unless it says otherwise.
pub const TOKENS_MAX_DEFAULT: u64 = 200_000;
/// So many failed tool calls in a row end a run, unless it says otherwise.
pub const FAILURES_MAX_DEFAULT: u32 = 3;
/// How many tool calls of one step run at once, unless the run says otherwise.
pub const CONCURRENT_TOOL_CALLS_MAX_DEFAULT: usize = 4;
/// The longest result of a tool that a model is shown, in bytes. A longer one is a failure of the call, told as
/// `OutputInvalidError`: a result that is cut in silence reads as a whole one.
pub const RESULT_BYTES_MAX: usize = 64 * 1024;
/// The most tools of a runner.
pub const TOOLS_MAX: usize = 128;

/// What a run may use. Each has a default; reaching one is an [`AgentFault`](crate::AgentFault) of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentLimits {
    /// The most model calls. The tools that the last of them asks for are not called: nobody would read the results.
    pub steps: u32,
    /// The most tool calls that the model may ask for in the run, unknown tools and malformed arguments included. A
    /// step that asks for more calls none.
    pub tool_calls: u32,
    /// The same for one step.
    pub step_tool_calls: u32,
    /// The most tokens. They count as reported; a figure of a model call that its provider did not report counts by its
    /// bytes, as [`token_estimate`](loom_llm::token_estimate) says, so that silence does not evade. It is looked at before the run
    /// goes on, so that one model call may go beyond: `stream_token_budget` bounds a call while it streams.
    pub tokens: u64,
    /// So many failed tool calls in a row, in the order of the calls, end the run with the last one.
    pub failures: u32,
    /// How many tool calls of one step run at once; one means that they run in order.
    pub concurrent_tool_calls: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            steps: STEPS_MAX_DEFAULT,
            tool_calls: TOOL_CALLS_MAX_DEFAULT,
            step_tool_calls: STEP_TOOL_CALLS_MAX_DEFAULT,
            tokens: TOKENS_MAX_DEFAULT,
            failures: FAILURES_MAX_DEFAULT,
            concurrent_tool_calls: CONCURRENT_TOOL_CALLS_MAX_DEFAULT,
        }
    }
}

impl AgentLimits {
    /// The same with so many model calls.
    #[must_use]
    pub fn with_steps(mut self, steps: u32) -> Self {
        self.steps = steps;
        self
    }

    /// The same with so many tool calls.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: u32) -> Self {
        self.tool_calls = calls;
        self
    }

    /// The same with so many tool calls a step.
    #[must_use]
    pub fn with_step_tool_calls(mut self, calls: u32) -> Self {
        self.step_tool_calls = calls;
        self
    }

    /// The same with so many tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    /// The same with so many failures in a row; none at all is taken for one.
    #[must_use]
    pub fn with_failures(mut self, failures: u32) -> Self {
        self.failures = failures.max(1);
        self
    }

    /// The same with so many tool calls at once; none at all is taken for one.
    #[must_use]
    pub fn with_concurrent_tool_calls(mut self, calls: usize) -> Self {
        self.concurrent_tool_calls = calls.max(1);
        self
    }

    /// The same with the tool calls of a step run one after the other, in the order that the model wrote them.
    #[must_use]
    pub fn in_order(self) -> Self {
        self.with_concurrent_tool_calls(1)
    }
}
