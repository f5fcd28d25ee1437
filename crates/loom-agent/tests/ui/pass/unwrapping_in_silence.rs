use loom_agent::AgentTool;
use loom_effect_runtime::Tool;
use loom_llm::ToolSpec;
use serde_json::Value;

fn search(tool: Tool<Value, String>, spec: ToolSpec) -> AgentTool {
    AgentTool::unwrapping(tool, spec, |arguments| arguments.unwrap_tainted())
}

fn main() {
    let _ = search as fn(_, _) -> _;
}
