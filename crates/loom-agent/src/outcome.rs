//! How a run ended, and what it came to.

use loom_effect_runtime::Usage;
use loom_llm::{LlmReply, Message};
use serde::{Deserialize, Serialize};

/// A run whose model came to an end of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgentOutcome {
    /// How the model ended.
    pub end: AgentEnd,
    /// The last reply; its content is the answer, tainted as the model's (spec row D9).
    pub reply: LlmReply,
    /// What the run came to.
    pub report: AgentReport,
}

/// How the model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEnd {
    /// With an answer: the provider says that the model had said all, or gives no reason beside a text.
    Answered,
    /// The model, or its provider, declined. Tools that it asked for in the same reply were not called.
    Declined,
    /// With an answer that is cut at the bound on tokens of the reply.
    Cut,
    /// With an answer of which the provider's own filter held text back.
    Filtered,
    /// For a reason that is none of these (a tool call that the provider could not read, a pause), for tool calls of
    /// which there are none, or with neither a text nor a reason. What the reply says, if anything, may be no answer.
    Unfinished,
}

/// What a run came to, however it ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgentReport {
    /// Model calls made.
    pub steps: u32,
    /// Tool calls started: each was asked for by the model, and each ask was started at most once.
    pub tool_calls: u32,
    /// Tool calls that failed and were told to the model, unknown tools and malformed arguments included.
    pub failures: u32,
    /// What model and tools reported, summed; `None` when nothing was reported, never zero for unknown (spec row D3).
    pub usage: Option<Usage>,
    /// Model calls that reported no usage: the sum is without theirs.
    pub silent_steps: u32,
    /// The conversation as far as it came, without the runner's own first messages: it may be
    /// [continued](crate::AgentRunner::resume). Where the run ended early, or the model declined, the last tool calls
    /// may have no results: a provider takes it back only with one for each. A result stands under the id that the model
    /// gave its call; one that only its place would tell apart is left out where a call before it has none.
    pub transcript: Vec<Message>,
}

impl AgentReport {
    pub(crate) fn spend(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.usage = Some(self.usage.map_or(usage, |sum| sum.plus(usage)));
        }
    }
}
