//! The loop's parts, put together once, and a run of it.

mod call;
mod conversation;
mod run;
mod step;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use loom_classify::endorse::OneOf;
use loom_effect_runtime::{Invoke, Tool};
use loom_llm::{ChatRequest, LlmReply, Message, ToolChoice};

pub use call::AgentCall;

use crate::error::AgentBuildError;
use crate::limits::{AgentLimits, TOOLS_MAX};
use crate::tool::AgentTool;

/// A tool-calling loop: it asks the model, calls the tools that it asks for, shows it the results, and goes on until
/// the model answers or a limit is reached.
///
/// It holds no power of its own. Every model turn and every tool call is a governed call of whom the run is made for,
/// a [`Caller`](loom_effect_runtime::Caller) or a decide scope, with its authorizer, middleware, mode check, signal
/// and sinks (spec rows T6, T7). It retries nothing: `Retry` does that inside the path, where a reset is told.
///
/// What a tool call can fail with, and what becomes of it:
/// - a refusal, a sever or an abort ends the run with that very error; the model does not hear of it (spec row T11);
/// - every other failure, an unknown name and malformed arguments among them, is told to the model by its stable name
///   alone, and counted: [`AgentLimits::failures`] of them in a row end the run.
///
/// Cheap to clone.
#[derive(Clone)]
pub struct AgentRunner {
    parts: Arc<Parts>,
}

struct Parts {
    model: Tool<ChatRequest, LlmReply>,
    /// What every request is made of; its messages are the first of each.
    template: ChatRequest,
    tools: Vec<AgentTool>,
    /// The tools' names, in their order.
    names: OneOf<usize>,
    limits: AgentLimits,
}

impl AgentRunner {
    /// Begins a runner whose turns are calls of `model`: an effect as [`agent_model`](crate::agent_model) makes it.
    pub fn builder(model: Tool<ChatRequest, LlmReply>) -> AgentRunnerBuilder {
        let (template, tools, limits) = (ChatRequest::of(Vec::new()), Vec::new(), AgentLimits::default());
        AgentRunnerBuilder { model, template, tools, limits }
    }

    /// A run that begins with words of the user. Nothing happens until it is awaited.
    pub fn run<B: Invoke + Clone + 'static>(&self, by: &B, prompt: impl Into<String>) -> AgentCall {
        self.resume(by, vec![Message::user(prompt)])
    }

    /// A run that goes on from a conversation: the transcript of an earlier run and what the user said since, say.
    /// The runner's own first messages stand before it and are no part of it.
    pub fn resume<B: Invoke + Clone + 'static>(&self, by: &B, conversation: Vec<Message>) -> AgentCall {
        AgentCall::new(Arc::clone(&self.parts), Arc::new(by.clone()), conversation)
    }

    /// What its runs may use.
    #[must_use]
    pub fn limits(&self) -> &AgentLimits {
        &self.parts.limits
    }

    /// Its tools.
    #[must_use]
    pub fn tools(&self) -> &[AgentTool] {
        &self.parts.tools
    }
}

impl fmt::Debug for AgentRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { model, tools, limits, .. } = &*self.parts;
        f.debug_struct("AgentRunner")
            .field("model", model)
            .field("tools", tools)
            .field("limits", limits)
            .finish_non_exhaustive()
    }
}

/// Collects what an [`AgentRunner`] is made of.
#[must_use]
pub struct AgentRunnerBuilder {
    model: Tool<ChatRequest, LlmReply>,
    template: ChatRequest,
    tools: Vec<AgentTool>,
    limits: AgentLimits,
}

impl AgentRunnerBuilder {
    /// What every request is made of: model, bounds, form, fields of the provider's own. Its messages stand before the
    /// conversation; its tools are replaced by the runner's. It replaces what [`system`](Self::system) said before.
    ///
    /// A tool choice that demands a call, [`Required`](ToolChoice::Required) or [`Named`](ToolChoice::Named), holds for
    /// the first step of a run; in every later one the model [decides](ToolChoice::Auto), since it could never answer
    /// otherwise.
    pub fn template(mut self, template: ChatRequest) -> Self {
        self.template = template;
        self
    }

    /// Adds instructions of the program, before the conversation.
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.template.messages.push(Message::system(prompt));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: AgentTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// What a run may use.
    pub fn limits(mut self, limits: AgentLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The runner.
    ///
    /// # Errors
    /// [`AgentBuildError`] when two tools have one name, a name is none that every provider takes, there are more than
    /// [`TOOLS_MAX`], or the template demands a call of a tool that there is not.
    pub fn build(self) -> Result<AgentRunner, AgentBuildError> {
        let Self { model, mut template, tools, limits } = self;
        if tools.len() > TOOLS_MAX {
            return Err(AgentBuildError::TooManyTools { tools: tools.len() });
        }
        let mut seen = HashSet::new();
        for name in tools.iter().map(|tool| &tool.spec().name) {
            if !is_name(name) {
                return Err(AgentBuildError::InvalidName { name: name.clone() });
            }
            if !seen.insert(name) {
                return Err(AgentBuildError::DuplicateTool { name: name.clone() });
            }
        }
        match &template.tool_choice {
            Some(ToolChoice::Named(name)) if !seen.contains(name) => {
                return Err(AgentBuildError::UnknownTool { name: name.clone() });
            }
            Some(ToolChoice::Required) if tools.is_empty() => return Err(AgentBuildError::NoTools),
            _ => {}
        }
        template.tools = tools.iter().map(|tool| tool.spec().clone()).collect();
        let names = OneOf::texts(tools.iter().map(|tool| tool.spec().name.as_str()));
        Ok(AgentRunner { parts: Arc::new(Parts { model, template, tools, names, limits }) })
    }
}

impl fmt::Debug for AgentRunnerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentRunnerBuilder").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// The longest name that every provider takes, in bytes.
const NAME_BYTES_MAX: usize = 64;

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain)
}
