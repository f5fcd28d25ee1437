//! For all scripts of a model: the run ends within its limits, and every tool call that ran was asked for, once.

use std::collections::HashSet;
use std::future::IntoFuture;

use loom_agent::{
    AgentEnd, AgentError, AgentFault, AgentLimits, AgentOutcome, AgentRunner, AgentTool, Arguments,
};
use loom_classify::Fenced;
use loom_classify::endorse::IntegerRange;
use loom_effect_runtime::{CallError, ErrorName, Refusal};
use loom_llm::{LlmChunk, Message, ToolCall};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::stage::*;

/// One tool call that a model may write.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Works,
    Fails,
    Refused,
    Unknown,
    Nameless,
    Malformed,
    None,
    Unfit,
}

/// One reply that a model may give.
#[derive(Clone, Debug)]
struct Said {
    text: bool,
    calls: Vec<(Ask, bool)>,
    finish: Option<&'static str>,
    usage: Option<(u64, u64)>,
    declined: bool,
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        8 => Just(Ask::Works),
        2 => Just(Ask::Fails),
        1 => Just(Ask::Refused),
        1 => Just(Ask::Unknown),
        1 => Just(Ask::Nameless),
        1 => Just(Ask::Malformed),
        1 => Just(Ask::None),
        1 => Just(Ask::Unfit),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let finish = prop_oneof![
        4 => Just(None),
        2 => Just(Some("tool_calls")),
        1 => Just(Some("stop")),
        1 => Just(Some("length")),
    ];
    let calls = proptest::collection::vec((ask(), any_bool()), 0..7);
    let usage = proptest::option::of((0_u64..60, 0_u64..60));
    (any_bool(), calls, finish, usage, proptest::bool::weighted(0.05))
        .prop_map(|(text, calls, finish, usage, declined)| Said { text, calls, finish, usage, declined })
}

fn any_bool() -> impl Strategy<Value = bool> {
    proptest::bool::ANY
}

fn limits() -> impl Strategy<Value = AgentLimits> {
    (0_u32..7, 0_u32..20, 0_u32..8, 0_u64..2_000, 0_u32..5, 0_usize..5).prop_map(
        |(steps, calls, step, tokens, failures, at_once)| {
            AgentLimits::default()
                .with_steps(steps)
                .with_tool_calls(calls)
                .with_step_tool_calls(step)
                .with_tokens(tokens)
                .with_failures(failures)
                .with_concurrent_tool_calls(at_once)
        },
    )
}

/// The pieces of a reply; every call has a number of its own in the run, which is its argument.
fn chunks(said: &Said, number: &mut i64) -> Reply {
    let mut reply = if said.text { says("text") } else { Vec::new() };
    for (call, (ask, with_id)) in said.calls.iter().enumerate() {
        *number += 1;
        let (name, arguments) = match ask {
            Ask::Works => (Some("works"), format!(r#"{{"n":{number}}}"#)),
            Ask::Fails => (Some("fails"), format!(r#"{{"n":{number}}}"#)),
            Ask::Refused => (Some("refused"), format!(r#"{{"n":{number}}}"#)),
            Ask::Unknown => (Some("unknown"), format!(r#"{{"n":{number}}}"#)),
            Ask::Nameless => (None, format!(r#"{{"n":{number}}}"#)),
            Ask::Malformed => (Some("works"), format!(r#"{{"n":{number}"#)),
            Ask::None => (Some("works"), String::new()),
            Ask::Unfit => (Some("works"), format!(r#"{{"n":"{number}"}}"#)),
        };
        let (id, name) = (with_id.then(|| format!("id{number}")), name.map(str::to_owned));
        reply.push(LlmChunk::ToolArguments { choice: 0, call, id, name, arguments });
    }
    reply.extend(said.usage.map(|(input, output)| usage(input, output)));
    reply.extend(said.declined.then_some(LlmChunk::Declined { choice: 0, explanation: None }));
    reply.extend(said.finish.map(finish));
    reply
}

/// A tool that logs its number and ends so.
fn numbered(log: &Log, id: &'static str, end: fn() -> Result<String, CallError>) -> Act<i64, String> {
    let log = log.clone();
    act(id, move |n: i64, _| {
        log.say(format!("{id} {n}"));
        async move { end() }
    })
}

/// The run of a script, and what its tools logged.
fn run(script: &Script, limits: AgentLimits) -> (Log, Result<AgentOutcome, AgentError>) {
    let log = Log::default();
    let runtime = runtime(script, |builder| {
        builder
            .effect(numbered(&log, "works", || Ok("done".to_owned())))
            .effect(numbered(&log, "fails", || Err(CallError::named(ErrorName::Provider, "canary"))))
            .effect(numbered(&log, "refused", || Err(Refusal::quota("q").into())))
    });
    let mut runner = AgentRunner::builder(runtime.tool("agent").unwrap()).limits(limits);
    for id in ["works", "fails", "refused"] {
        let number =
            |arguments: &Arguments| arguments.field::<i64>("n")?.endorse(&IntegerRange::new(1, 1_000));
        runner = runner.tool(AgentTool::new(runtime.tool::<i64, String>(id).unwrap(), spec(id), number));
    }
    let run = runner.build().unwrap().run(&caller(&runtime), "hi").into_future();
    (log, tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run))
}

/// What ran is what was asked for by a whole call in the replies that were given, each at most once.
fn ran_as_asked(given: &[Said], ran: &[String]) -> Result<(), TestCaseError> {
    let numbered = given.iter().flat_map(|said| said.calls.iter()).zip(1..);
    let asked: HashSet<String> = numbered
        .filter_map(|((ask, _), number)| match ask {
            Ask::Works => Some(format!("works {number}")),
            Ask::Fails => Some(format!("fails {number}")),
            Ask::Refused => Some(format!("refused {number}")),
            _ => None,
        })
        .collect();
    let mut seen = HashSet::new();
    for line in ran {
        prop_assert!(asked.contains(line), "`{}` was not asked for", line);
        prop_assert!(seen.insert(line), "`{}` ran twice", line);
    }
    Ok(())
}

/// Results stand behind the turn that asked for them, in its order, one without an id where its call is the first that
/// has no result, and a failure says no more than a name. Gives the calls of the last turn that have no result, and how
/// many results there are.
fn answered_in_order(transcript: &[Message], whole: bool) -> Result<(usize, u32), TestCaseError> {
    let (mut open, mut results) = (Vec::new(), 0);
    for message in transcript {
        match message {
            Message::Assistant { tool_calls, .. } => {
                prop_assert!(open.is_empty() || !whole, "a call without a result");
                let id = |call: &Fenced<ToolCall>| call.expose_tainted().id.clone().unwrap_or_default();
                open = tool_calls.iter().map(id).collect();
            }
            Message::Tool { tool_call_id, content, is_error } => {
                let id = tool_call_id.expose_tainted();
                let place = open.iter().position(|open| open == id);
                prop_assert!(place.is_some(), "a result of no call, or out of order");
                prop_assert!(place == Some(0) || !id.is_empty(), "a result of another call");
                open.drain(..=place.unwrap());
                let text = content.expose_tainted();
                let name = ErrorName::from_text(text).filter(|name| !name.is_refusal());
                prop_assert!(if *is_error { name.is_some() } else { text == "done" }, "{}", text);
                results += 1;
            }
            _ => {}
        }
    }
    Ok((open.len(), results))
}

proptest! {
    /// T6, T11: whatever a model says, its run ends within the limits; only tools that it asked for by a whole call
    /// ran, each once; and every result stands behind the turn that asked for it, in its order.
    #[test]
    fn any_script_ends_within_the_limits_and_runs_what_was_asked_once(
        said in proptest::collection::vec(said(), 0..9),
        limits in limits(),
    ) {
        let mut number = 0;
        let replies: Vec<_> = said.iter().map(|said| chunks(said, &mut number)).collect();
        let script = Script::of(replies);
        let (log, outcome) = run(&script, limits);
        let report = match &outcome {
            Ok(outcome) => &outcome.report,
            Err(error) => error.report(),
        };
        prop_assert!(report.steps <= limits.steps && report.tool_calls <= limits.tool_calls);
        prop_assert_eq!(script.asked().len() as u32, report.steps);
        let given = said.get(..report.steps as usize).unwrap_or(&said);
        ran_as_asked(given, &log.lines())?;
        let (open, results) = answered_in_order(&report.transcript, outcome.is_ok())?;
        match &outcome {
            Ok(outcome) => {
                prop_assert!(open == 0 || outcome.end == AgentEnd::Declined);
                prop_assert_eq!(log.lines().len() as u32, report.tool_calls);
                prop_assert_eq!(results, report.tool_calls + report.failures - failed(&log));
            }
            Err(error) => {
                let refused = u32::from(matches!(error.fault(), AgentFault::ToolRefused { .. }));
                prop_assert!(report.tool_calls >= refused);
                prop_assert!(results <= report.tool_calls - refused + report.failures);
            }
        }
        prop_assert!(serde_json::to_value(report).is_ok());
    }
}

/// Calls that began and failed.
fn failed(log: &Log) -> u32 {
    log.lines().iter().filter(|line| line.starts_with("fails")).count() as u32
}
