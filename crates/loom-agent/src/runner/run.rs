//! The loop.

use std::sync::Arc;

use loom_effect_runtime::{DeltaSink, Invocation, Invoke, Signal, Usage};
use loom_llm::{ChatRequest, FinishReason, LlmReply, Message, ToolChoice};

use super::Parts;
use super::conversation::{reply_estimate, request_estimate, turn_of};
use crate::error::{AgentError, AgentFault};
use crate::outcome::{AgentEnd, AgentOutcome, AgentReport};

/// One run under way.
pub(super) struct Run {
    pub(super) parts: Arc<Parts>,
    pub(super) by: Arc<dyn Invoke>,
    pub(super) signal: Option<Signal>,
    sink: Option<Arc<dyn DeltaSink>>,
    pub(super) report: AgentReport,
    /// Tool calls that the model asked for, whatever became of them.
    asked: u32,
    tokens: u64,
    pub(super) failures_in_a_row: u32,
}

impl Run {
    pub(super) fn new(
        parts: Arc<Parts>,
        by: Arc<dyn Invoke>,
        conversation: Vec<Message>,
        signal: Option<Signal>,
        sink: Option<Arc<dyn DeltaSink>>,
    ) -> Self {
        let report = AgentReport { transcript: conversation, ..AgentReport::default() };
        Self { parts, by, signal, sink, report, asked: 0, tokens: 0, failures_in_a_row: 0 }
    }

    /// Runs to the end of the model's own, or to whatever ends it before.
    pub(super) async fn go(mut self) -> Result<AgentOutcome, AgentError> {
        let mut last = None;
        match self.turns(&mut last).await {
            Ok((end, reply)) => Ok(AgentOutcome { end, reply, report: self.report }),
            Err(fault) => Err(AgentError::new(fault, last, self.report)),
        }
    }

    /// Turn after turn. The reply of the last one is kept in `last` whenever the run goes on or fails.
    async fn turns(&mut self, last: &mut Option<LlmReply>) -> Result<(AgentEnd, LlmReply), AgentFault> {
        loop {
            self.may_step()?;
            let reply = self.ask().await?;
            if let Some(end) = end_of(&reply) {
                return Ok((end, reply));
            }
            let reply = last.insert(reply);
            if let Some(FinishReason::Length | FinishReason::ContentFilter) = reply.finish_reason {
                return Err(AgentFault::CutToolCalls);
            }
            self.may_call(reply.tool_calls.len())?;
            self.may_spend()?;
            self.may_step()?;
            self.call_tools(reply).await?;
            self.may_spend()?;
        }
    }

    /// One turn of the model.
    async fn ask(&mut self) -> Result<LlmReply, AgentFault> {
        self.report.steps += 1;
        let mut call = Invocation::new(self.parts.model, self.request());
        if let Some(sink) = &self.sink {
            call = call.on_delta_sink(Arc::clone(sink));
        }
        if let Some(signal) = &self.signal {
            call = call.signal(signal.clone());
        }
        let (result, report) = call.by(&*self.by).await;
        self.report.spend(report.usage);
        if report.usage.is_none() {
            self.report.silent_steps += 1;
        }
        let reply = result.map_err(AgentFault::Model)?;
        self.weigh(report.usage.unwrap_or_default(), &reply);
        self.report.transcript.push(turn_of(&reply));
        Ok(reply)
    }

    /// The request of the step that is under way.
    fn request(&self) -> ChatRequest {
        let mut request = self.parts.template.clone();
        request.messages.extend(self.report.transcript.iter().cloned());
        // A model that must call a tool in every step never answers.
        if self.report.steps > 1
            && let Some(choice @ (ToolChoice::Required | ToolChoice::Named(_))) = &mut request.tool_choice
        {
            *choice = ToolChoice::Auto;
        }
        request
    }

    /// Counts a model call's tokens, what was not reported by its bytes. The reply is not part of the transcript yet.
    fn weigh(&mut self, usage: Usage, reply: &LlmReply) {
        let input = usage.input_tokens.unwrap_or_else(|| request_estimate(&self.request()));
        let output = usage.output_tokens.unwrap_or_else(|| reply_estimate(reply));
        self.count(input.saturating_add(output));
    }

    /// Counts tokens that the run has used.
    pub(super) fn count(&mut self, tokens: u64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }

    fn may_step(&self) -> Result<(), AgentFault> {
        let max = self.parts.limits.steps;
        if self.report.steps < max { Ok(()) } else { Err(AgentFault::StepLimit { max }) }
    }

    fn may_spend(&self) -> Result<(), AgentFault> {
        let (max, used) = (self.parts.limits.tokens, self.tokens);
        if used <= max { Ok(()) } else { Err(AgentFault::TokenLimit { max, used }) }
    }

    fn may_call(&mut self, calls: usize) -> Result<(), AgentFault> {
        let limits = &self.parts.limits;
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        if calls > limits.step_tool_calls {
            return Err(AgentFault::StepToolCallLimit { max: limits.step_tool_calls, asked: calls });
        }
        self.asked = self.asked.saturating_add(calls);
        if self.asked > limits.tool_calls {
            return Err(AgentFault::ToolCallLimit { max: limits.tool_calls, asked: self.asked });
        }
        Ok(())
    }
}

/// How the model ended with that reply; `None` where it goes on with its tool calls.
fn end_of(reply: &LlmReply) -> Option<AgentEnd> {
    Some(match reply.finish_reason {
        _ if reply.refused => AgentEnd::Declined,
        _ if !reply.tool_calls.is_empty() => return None,
        Some(FinishReason::Stop) => AgentEnd::Answered,
        Some(FinishReason::Length) => AgentEnd::Cut,
        Some(FinishReason::ContentFilter) => AgentEnd::Filtered,
        // Many servers of open models give no reason with an answer.
        None if !reply.content.as_tainted_str().is_empty() => AgentEnd::Answered,
        _ => AgentEnd::Unfinished,
    })
}
