use loom_agent::AgentTool;
use loom_effect_runtime::Tool;
use loom_llm::ToolSpec;

fn forecast(tool: Tool<String, String>, spec: ToolSpec) -> AgentTool {
    AgentTool::new(tool, spec)
}

fn main() {
    let _ = forecast as fn(_, _) -> _;
}
