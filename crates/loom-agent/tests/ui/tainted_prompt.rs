use loom_agent::{AgentCall, AgentRunner};
use loom_effect_runtime::Caller;
use loom_llm::LlmReply;

fn ask(runner: &AgentRunner, caller: &Caller, earlier: LlmReply) -> AgentCall {
    runner.resume(caller, vec![earlier.content])
}

fn main() {
    let _ = ask as fn(&_, &_, _) -> _;
}
