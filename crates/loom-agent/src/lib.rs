//! A bounded tool-calling loop whose every model turn and tool call is a governed call.
//!
//! Depend on this crate to let a model call tools. It adds no power: a run is made for a
//! [`Caller`](loom_effect_runtime::Caller) or inside a decide scope, and each of its calls takes that one's path, with
//! its authorizer, middleware, mode check, signal and sinks.
//!
//! - [`agent_model`]: the effect that model turns are calls of.
//! - [`AgentTool`]: what the model is told of a tool, and how its arguments may become that tool's input.
//! - [`AgentRunner`]: the loop, with [`AgentLimits`]; [`AgentOutcome`] and [`AgentError`] say how a run ended.
//!
//! ```
//! use futures::future::BoxFuture;
//! use futures::stream::{self, StreamExt};
//! use loom_agent::{AgentRunner, AgentTool, agent_model};
//! use loom_classify::endorse::BoundedText;
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime, Identity, Principal};
//! use loom_llm::{ChatRequest, ChunkStream, LlmChunk, Message, Provider, ProviderError, ToolSpec};
//! use serde_json::json;
//!
//! /// A model that asks for the weather, then tells it.
//! struct Scripted;
//!
//! impl Provider for Scripted {
//!     fn name(&self) -> &str { "scripted" }
//!     fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
//!         let chunk = match request.messages.last() {
//!             Some(Message::Tool { .. }) => LlmChunk::Text { choice: 0, text: "Take an umbrella.".into() },
//!             _ => LlmChunk::ToolArguments {
//!                 choice: 0,
//!                 call: 0,
//!                 id: Some("call_1".into()),
//!                 name: Some("weather".into()),
//!                 arguments: r#"{"city":"Basel"}"#.into(),
//!             },
//!         };
//!         Box::pin(async move { Ok(stream::iter([Ok(chunk)]).boxed()) })
//!     }
//! }
//!
//! struct Weather;
//!
//! impl Effect for Weather {
//!     type Input = String;
//!     type Output = String;
//!     fn id(&self) -> &str { "weather" }
//!     async fn execute(&self, city: &String, _: &EffectContext<'_>) -> Result<String, CallError> {
//!         Ok(format!("rain in {city}"))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .effect(agent_model("agent", Scripted).model("any").build())
//!     .effect(Weather)
//!     .build()?;
//! let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
//! let spec = ToolSpec::new("weather", "the weather in a city", schema);
//! let weather = AgentTool::new(runtime.tool::<String, String>("weather")?, spec, |arguments| {
//!     let city = arguments.field::<String>("city")?.endorse(&BoundedText::chars(1, 64))?;
//!     Ok(city.as_str().to_owned())
//! });
//! let runner = AgentRunner::builder(runtime.tool("agent")?).system("be brief").tool(weather).build()?;
//!
//! let caller = runtime.caller(Identity::new(Principal::new("ada")));
//! let outcome = runner.run(&caller, "what shall I wear in Basel?").await?;
//! assert_eq!(outcome.reply.content.unwrap_tainted(), "Take an umbrella.");
//! assert_eq!((outcome.report.steps, outcome.report.tool_calls), (2, 1));
//! # Ok(())
//! # }
//! ```

mod error;
mod limits;
mod model;
mod outcome;
mod runner;
mod tool;

pub use error::{AgentBuildError, AgentError, AgentFault};
pub use limits::{
    AgentLimits, CONCURRENT_TOOL_CALLS_MAX_DEFAULT, FAILURES_MAX_DEFAULT, RESULT_BYTES_MAX,
    STEP_TOOL_CALLS_MAX_DEFAULT, STEPS_MAX_DEFAULT, TOKENS_MAX_DEFAULT, TOOL_CALLS_MAX_DEFAULT, TOOLS_MAX,
};
pub use model::agent_model;
pub use outcome::{AgentEnd, AgentOutcome, AgentReport};
pub use runner::{AgentCall, AgentRunner, AgentRunnerBuilder};
pub use tool::{AgentTool, Arguments};

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
