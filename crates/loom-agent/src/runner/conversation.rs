//! What is said between model and tools, and what it weighs.

use std::io;

use loom_classify::{Fenced, Tainted};
use loom_effect_runtime::CallError;
use loom_llm::{ChatRequest, LlmReply, LlmToolCall, Message, token_estimate};

/// What stands in the conversation for the name of a tool call that has none: every provider takes it, and none takes a
/// call back without a name.
const UNNAMED: &str = "unnamed";

/// A reply as a turn of the conversation. Where a tool call has no name, the provider's own form of the turn has none
/// either, so it goes back by its parts alone.
pub(super) fn turn_of(reply: &LlmReply) -> Message {
    if !reply.tool_calls.iter().any(is_nameless) {
        return reply.to_message();
    }
    let mut reply = reply.clone();
    reply.turn = None;
    for call in reply.tool_calls.iter_mut().filter(|call| is_nameless(call)) {
        // Marked as all that stands in a reply is; it holds no word of the model.
        call.name = Some(Tainted::new(UNNAMED.to_owned(), call.arguments.origins().clone()));
    }
    reply.to_message()
}

fn is_nameless(call: &LlmToolCall) -> bool {
    is_blank(call.name.as_ref())
}

/// Whether a text of a reply is absent or empty.
pub(super) fn is_blank(text: Option<&Tainted<String>>) -> bool {
    text.is_none_or(|text| text.as_tainted_str().is_empty())
}

/// What the model is told of a tool call: its result, or the stable name of its failure and no other word. It goes under
/// the id that the model gave the call; under none, the calls' order tells which one it answers.
pub(super) fn told(id: Option<Tainted<String>>, result: Result<Fenced<String>, CallError>) -> Message {
    let id = id.map(Fenced::from).unwrap_or_default();
    match result {
        Ok(text) => Message::tool(id, text),
        Err(error) => Message::tool_error(id, Fenced::trusted(error.name().as_str().to_owned())),
    }
}

/// The tokens of a request by its bytes, for a provider that reports none.
pub(super) fn request_estimate(request: &ChatRequest) -> u64 {
    let mut bytes = Counted(0);
    // What has no JSON form is refused by the call itself.
    let _ = serde_json::to_writer(&mut bytes, request);
    token_estimate(bytes.0)
}

/// The tokens of a reply by its bytes, likewise.
pub(super) fn reply_estimate(reply: &LlmReply) -> u64 {
    let arguments: usize = reply.tool_calls.iter().map(|call| call.arguments.as_tainted_str().len()).sum();
    let reasoning = reply.reasoning.as_ref().map_or(0, |text| text.as_tainted_str().len());
    token_estimate(reply.content.as_tainted_str().len() + reasoning + arguments)
}

/// Counts what is written to it.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
