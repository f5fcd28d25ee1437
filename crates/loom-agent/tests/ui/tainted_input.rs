use loom_agent::AgentTool;
use loom_effect_runtime::Tool;
use loom_llm::ToolSpec;
use loom_classify::endorse::BoundedText;

fn forecast(tool: Tool<String, String>, spec: ToolSpec) -> AgentTool {
    AgentTool::new(tool, spec, |arguments| {
        let city = arguments.field::<String>("city")?;
        Ok(city)
    })
}

fn main() {
    let _ = (forecast as fn(_, _) -> _, BoundedText::chars(1, 64));
}
