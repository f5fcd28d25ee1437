//! What is said between model and tools: ids, and what they weigh.

use std::io;

use loom_classify::{Fenced, Tainted};
use loom_effect_runtime::CallError;
use loom_llm::{ChatRequest, LlmReply, Message, token_estimate};

/// Gives every tool call of a reply an id, where the provider gave none, so that its result can name it. `turn` is the
/// reply's place in the conversation, which makes the ids unique in it.
pub(super) fn mint_ids(reply: &mut LlmReply, turn: usize) {
    for (at, call) in reply.tool_calls.iter_mut().enumerate() {
        if call.id.as_ref().is_none_or(|id| id.as_tainted_str().is_empty()) {
            // Marked as all that stands in a reply is; it holds no word of the model.
            call.id = Some(Tainted::new(format!("agent_{turn}_{at}"), call.arguments.origins().clone()));
        }
    }
}

/// What the model is told of a tool call: its result, or the stable name of its failure and no other word.
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
