use loom_agent::{AgentCall, AgentRunner};
use loom_effect_runtime::Caller;
use loom_llm::{LlmReply, Message};

fn ask(runner: &AgentRunner, caller: &Caller, earlier: LlmReply) -> AgentCall {
    runner.resume(caller, vec![Message::user(earlier.content.unwrap_tainted())])
}

fn main() {
    let _ = ask as fn(&_, &_, _) -> _;
}
