//! The tool calls of one step.

use std::sync::Arc;

use futures::FutureExt;
use futures::stream::{self, StreamExt};
use loom_classify::{Fenced, Tainted};
use loom_effect_runtime::{CallError, Invoke, Signal, Usage};
use loom_llm::{LlmReply, LlmToolCall, ToolArguments, ToolArgumentsError};

use super::Parts;
use super::conversation::{is_blank, told};
use super::run::Run;
use crate::error::{AgentFault, Unanswerable, malformed};
use crate::tool::{Arguments, Running};

/// A tool call that came to its end.
struct Called {
    id: Option<Tainted<String>>,
    /// The tool's place among the runner's; absent for a name that is none of them.
    tool: Option<usize>,
    /// Whether a governed call was started.
    started: bool,
    result: Result<Fenced<String>, CallError>,
    usage: Option<Usage>,
}

impl Run {
    /// Calls the tools, so many at once as the limits say, and appends the results in the order of the calls. Where the
    /// run ends, what is still in flight is dropped with the stream, and what was not begun never is.
    pub(super) async fn call_tools(&mut self, reply: &LlmReply) -> Result<(), AgentFault> {
        let calls = &reply.tool_calls;
        let begun: Vec<_> = calls
            .iter()
            .zip(reply.read_arguments())
            .enumerate()
            .map(|(at, (call, arguments))| {
                let (parts, by) = (Arc::clone(&self.parts), Arc::clone(&self.by));
                called(parts, by, self.signal.clone(), call.clone(), arguments)
                    .map(move |called| (at, called))
                    .boxed()
            })
            .collect();
        let mut running =
            stream::iter(begun).buffer_unordered(self.parts.limits.concurrent_tool_calls.max(1));
        let mut settled: Vec<Option<Called>> = calls.iter().map(|_| None).collect();
        let mut judged = 0;
        let mut fault = None;
        while fault.is_none()
            && let Some((at, called)) = running.next().await
        {
            self.report.tool_calls += u32::from(called.started);
            self.report.spend(called.usage);
            self.count(called.usage.map_or(0, total));
            if let Err(error) = &called.result
                && error.is_refusal()
            {
                fault = Some(self.refused(&called, error.clone()));
                break;
            }
            if let Some(place) = settled.get_mut(at) {
                *place = Some(called);
            }
            // Failures are counted in the order of the calls, whichever settled first.
            while fault.is_none()
                && let Some(Some(called)) = settled.get(judged)
            {
                judged += 1;
                fault = self.judge(&called.result);
            }
        }
        drop(running);
        let mut is_whole = true;
        for called in settled {
            let Some(called) = called else {
                is_whole = false;
                continue;
            };
            // Behind a call without a result, one that is found by its place would answer that call.
            if is_whole || is_sole(called.id.as_ref(), calls) {
                self.report.failures += u32::from(called.result.is_err());
                self.report.transcript.push(told(called.id, called.result));
            }
        }
        fault.map_or(Ok(()), Err)
    }

    /// Counts failures in a row; the fault where there are too many.
    fn judge(&mut self, result: &Result<Fenced<String>, CallError>) -> Option<AgentFault> {
        let Err(error) = result else {
            self.failures_in_a_row = 0;
            return None;
        };
        self.failures_in_a_row += 1;
        let in_a_row = self.failures_in_a_row;
        let too_many = in_a_row >= self.parts.limits.failures;
        too_many.then(|| AgentFault::ToolFailures { in_a_row, error: error.clone() })
    }

    fn refused(&self, called: &Called, error: CallError) -> AgentFault {
        let tool = called.tool.and_then(|at| self.parts.tools.get(at));
        AgentFault::ToolRefused {
            tool: tool.map_or_else(String::new, |tool| tool.spec().name.clone()),
            error,
        }
    }
}

/// Whether the id is that of one call alone.
fn is_sole(id: Option<&Tainted<String>>, calls: &[LlmToolCall]) -> bool {
    !is_blank(id) && calls.iter().filter(|call| call.id.as_ref() == id).count() == 1
}

/// One tool call: name, arguments, governed call.
async fn called(
    parts: Arc<Parts>,
    by: Arc<dyn Invoke>,
    signal: Option<Signal>,
    call: LlmToolCall,
    arguments: Result<ToolArguments, ToolArgumentsError>,
) -> Called {
    // The one way from the model's word to a tool: it is one of the registered names, or nothing is called.
    let tool = call.name.as_ref().and_then(|name| name.endorse(&parts.names).ok());
    let (started, (result, usage)) = match begun(&parts, tool, arguments, &*by, signal) {
        Ok(running) => (true, running.await),
        Err(error) => (false, (Err(error), None)),
    };
    Called { id: call.id, tool, started, result, usage }
}

fn begun(
    parts: &Parts,
    tool: Option<usize>,
    arguments: Result<ToolArguments, ToolArgumentsError>,
    by: &dyn Invoke,
    signal: Option<Signal>,
) -> Result<Running, CallError> {
    let tool = tool.and_then(|at| parts.tools.get(at)).ok_or(Unanswerable::UnknownTool)?;
    tool.begin(&Arguments::new(arguments.map_err(malformed)?), by, signal)
}

fn total(usage: Usage) -> u64 {
    usage.input_tokens.unwrap_or(0).saturating_add(usage.output_tokens.unwrap_or(0))
}
