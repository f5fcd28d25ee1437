//! The limits of a run: each is a typed fault that keeps the transcript.

use loom_agent::{AgentError, AgentFault, AgentLimits, AgentOutcome, AgentRunner};
use loom_effect_runtime::{CallError, ErrorName, Usage};
use serde_json::Value;

use crate::stage::*;

/// A model that asks for so many echoes in each step, and never stops.
fn endless(calls: usize, extra: &Reply) -> Script {
    let step = || [asks(vec![("echo", "{}"); calls]), extra.clone()].concat();
    Script::of((0..100).map(|_| step()))
}

async fn run(script: &Script, limits: AgentLimits, log: &Log) -> Result<AgentOutcome, AgentError> {
    let runtime = runtime(script, |builder| builder.effect(echo(log)));
    let runner =
        AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "echo")).limits(limits);
    runner.build().unwrap().run(&caller(&runtime), "hi").await
}

/// The rule of the limit, as a caller that knows only call errors is told it.
fn rule(error: AgentError) -> String {
    let error = CallError::from(error);
    assert_eq!(error.name(), ErrorName::QuotaExceeded);
    error.rule().unwrap().to_owned()
}

#[tokio::test]
async fn a_run_makes_so_many_model_calls_and_calls_no_tool_whose_result_nobody_reads() {
    for (limits, max) in [(AgentLimits::default(), 8), (AgentLimits::default().with_steps(1), 1)] {
        let (log, script) = (Log::default(), endless(1, &Vec::new()));
        let error = run(&script, limits, &log).await.unwrap_err();
        assert!(matches!(error.fault(), AgentFault::StepLimit { max: limit } if *limit == max), "{error}");
        assert_eq!((script.asked().len() as u32, log.lines().len() as u32), (max, max - 1));
        let report = error.report();
        assert_eq!((report.steps, report.tool_calls), (max, max - 1));
        assert_eq!(report.transcript.len() as u32, 2 * max, "the transcript is kept");
        assert_eq!(error.reply().unwrap().tool_calls.len(), 1);
        assert_eq!(rule(error), "agent.steps");
    }
    let error = run(&endless(1, &Vec::new()), AgentLimits::default().with_steps(0), &Log::default()).await;
    let error = error.unwrap_err();
    assert_eq!((error.report().steps, error.reply().is_none()), (0, true));
}

#[tokio::test]
async fn an_answer_in_the_last_step_is_an_answer() {
    let script = Script::of([asks([("echo", "{}")]), says("done")]);
    let outcome = run(&script, AgentLimits::default().with_steps(2), &Log::default()).await.unwrap();
    assert_eq!(outcome.report.steps, 2);
}

#[tokio::test]
async fn a_step_that_asks_for_too_many_tools_calls_none_of_them() {
    let default = AgentLimits::default().with_steps(u32::MAX);
    for (limits, calls, executed, expected) in [
        (default, 16, 64, "agent.tool_calls"),
        (default, 17, 0, "agent.step_tool_calls"),
        (default.with_tool_calls(5), 2, 4, "agent.tool_calls"),
        (default.with_tool_calls(6), 2, 6, "agent.tool_calls"),
        (default.with_step_tool_calls(1), 2, 0, "agent.step_tool_calls"),
    ] {
        let log = Log::default();
        let error = run(&endless(calls, &Vec::new()), limits, &log).await.unwrap_err();
        assert_eq!((log.lines().len(), error.report().tool_calls), (executed, executed as u32));
        assert_eq!(rule(error), expected);
    }
}

#[tokio::test]
async fn calls_of_tools_that_there_are_not_count_too() {
    let script = Script::of((0..9).map(|_| asks([("nobody", "{}"), ("echo", "{}")])));
    let error = run(&script, AgentLimits::default().with_tool_calls(5), &Log::default()).await.unwrap_err();
    assert!(matches!(error.fault(), AgentFault::ToolCallLimit { max: 5, asked: 6 }), "{error}");
}

#[tokio::test]
async fn tokens_are_counted_as_reported_and_by_bytes_where_they_are_not() {
    let limits = |tokens| AgentLimits::default().with_tokens(tokens);
    let reported = vec![usage(40, 10)];
    let error = run(&endless(1, &reported), limits(120), &Log::default()).await.unwrap_err();
    assert!(matches!(error.fault(), AgentFault::TokenLimit { max: 120, used: 150 }), "{error}");
    assert_eq!((error.report().steps, error.report().tool_calls), (3, 2), "no tool runs beyond it");
    assert_eq!(error.report().usage, Some(Usage::new(120, 30)));
    assert_eq!(rule(error), "agent.tokens");
    assert_eq!(
        rule(run(&endless(1, &reported), limits(150), &Log::default()).await.unwrap_err()),
        "agent.tokens"
    );

    // 400 bytes of a provider that reports nothing are 100 tokens, and the request is not free either.
    let silent = || endless(1, &says(&"x".repeat(400)));
    let error = run(&silent(), limits(100), &Log::default()).await.unwrap_err();
    let AgentFault::TokenLimit { used, .. } = error.fault() else { panic!("{error}") };
    assert!((101..250).contains(used), "{used}");
    assert_eq!((error.report().steps, error.report().usage), (1, None));
}

#[tokio::test]
async fn what_a_tool_reports_is_counted_with_it() {
    let script = Script::of((0..9).map(|_| [asks([("asks", "{}")]), vec![usage(1, 1)]].concat()));
    let asks_model = loom_agent::agent_model(
        "inner",
        Script::of((0..9).map(|_| [says("x"), vec![usage(50, 50)]].concat())),
    );
    let runtime = runtime(&script, |builder| builder.effect(asks_model.build()));
    let inner = runtime.tool::<loom_llm::ChatRequest, loom_llm::LlmReply>("inner").unwrap();
    let tool = loom_agent::AgentTool::new(inner, spec("asks"), |_| Ok(loom_llm::ChatRequest::of(Vec::new())));
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap())
        .tool(tool)
        .limits(AgentLimits::default().with_tokens(150))
        .build()
        .unwrap();
    let error = runner.run(&caller(&runtime), "hi").await.unwrap_err();
    assert!(matches!(error.fault(), AgentFault::TokenLimit { used: 204, .. }), "{error}");
    assert_eq!(error.report().usage, Some(Usage::new(102, 102)));
    let results = lines(&error.report().transcript);
    let result: Value = serde_json::from_str(results[2].strip_prefix("tool#id0: ").unwrap()).unwrap();
    assert_eq!(result["content"], "x", "a reply of a model is shown without its marks");
}

#[test]
fn limits_are_read_with_their_defaults_and_a_misspelled_one_is_refused() {
    let read = |json: &str| serde_json::from_str::<AgentLimits>(json);
    assert_eq!(read("{}").unwrap(), AgentLimits::default());
    assert_eq!(read(r#"{"steps":2}"#).unwrap(), AgentLimits::default().with_steps(2));
    assert!(read(r#"{"step":2}"#).is_err());
}
