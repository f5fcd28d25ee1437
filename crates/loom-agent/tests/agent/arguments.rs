//! How arguments of a model become input of a tool: never by default, never in place of what is broken.

use std::sync::{Arc, Mutex, OnceLock};

use loom_agent::{AgentFault, AgentRunner, AgentTool};
use loom_classify::audit::{self, UnwrapKind};
use loom_classify::endorse::{BoundedText, IntegerRange, Rejected};
use loom_classify::{Fenced, TaintOrigin, Tainted};
use loom_effect_runtime::{Data, EffectRuntime, ErrorName, Tool};
use loom_llm::{Message, ToolArguments};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::stage::*;

/// What became of one call with those arguments: what the tool was given, and what the model was told.
async fn called(arguments: &str, tool: impl Fn(&EffectRuntime) -> AgentTool) -> (Vec<String>, String) {
    let (log, script) = (Log::default(), Script::of([asks([("echo", arguments)])]));
    let runtime = runtime(&script, |builder| builder.effect(echo(&log)));
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(tool(&runtime)).build().unwrap();
    let report = runner.run(&caller(&runtime), "hi").await.unwrap().report;
    assert_eq!(report.tool_calls as usize, log.lines().len());
    (log.lines(), lines(&report.transcript)[2].clone())
}

const TOLD: &str = "tool#id0! InputInvalidError";

#[tokio::test]
async fn malformed_arguments_are_a_failure_and_never_an_empty_object() {
    for malformed in ["{", r#"{"n":"#, "[]", "7", r#""{}""#, "{} {}", r#"{"n":1,"n":2}"#, "canary"] {
        assert_eq!(called(malformed, |runtime| any(runtime, "echo")).await, (vec![], TOLD.to_owned()));
    }
    assert_eq!(called("{}", |runtime| any(runtime, "echo")).await.0, ["{}"]);
}

#[tokio::test]
async fn no_arguments_are_another_thing_than_an_empty_object() {
    let tool = |runtime: &EffectRuntime| {
        AgentTool::new(runtime.tool::<Value, String>("echo").unwrap(), spec("echo"), |arguments| {
            Ok(json!(match arguments.given() {
                ToolArguments::None => "none",
                _ if arguments.optional::<Value>("n")?.is_some() => "n",
                _ => "object",
            }))
        })
    };
    for (arguments, given) in [("", r#""none""#), ("{}", r#""object""#), (r#"{"n":1}"#, r#""n""#)] {
        assert_eq!(called(arguments, tool).await.0, [given]);
    }
    assert_eq!(called("", |runtime| any(runtime, "echo")).await.0, ["null"]);
}

/// D9: what a tool is given was parsed into small types; what the endorsement rejects is not called, and the model is
/// not told why.
#[tokio::test]
async fn an_endorsement_makes_the_input_or_rejects_it() {
    let tool = |runtime: &EffectRuntime| {
        AgentTool::new(runtime.tool::<Value, String>("echo").unwrap(), spec("echo"), |arguments| {
            let city = arguments.field::<String>("city")?.endorse(&BoundedText::chars(1, 9))?;
            let days = arguments.optional::<i64>("days")?.map(|days| days.endorse(&IntegerRange::new(1, 7)));
            Ok(json!([city, days.transpose()?]))
        })
    };
    let given = called(r#"{"city":"Basel","days":3,"more":"x"}"#, tool).await.0;
    assert_eq!(given, [r#"["Basel",3]"#]);
    assert_eq!(called(r#"{"city":"Basel","days":null}"#, tool).await.0, [r#"["Basel",null]"#]);
    for rejected in [
        "",
        "{}",
        r#"{"city":7}"#,
        r#"{"city":"a canary, and long"}"#,
        r#"{"city":"Basel","days":8}"#,
        r#"{"city":"Basel","days":"3"}"#,
    ] {
        assert_eq!(called(rejected, tool).await, (vec![], TOLD.to_owned()), "{rejected}");
    }
}

#[tokio::test]
async fn a_panic_over_arguments_is_a_failure_of_the_call() {
    let tool = |runtime: &EffectRuntime| {
        let panics = |_: &_| -> Result<Value, Rejected> { panic!("out of an endorsement") };
        AgentTool::new(runtime.tool::<Value, String>("echo").unwrap(), spec("echo"), panics)
    };
    assert_eq!(called("{}", tool).await, (vec![], TOLD.to_owned()));
}

#[derive(Clone, Serialize, Deserialize)]
struct Query<T> {
    q: T,
}

/// One run of a model that asks `find` for a canary.
async fn found<T: Data>(
    read: impl Fn(Tainted<String>) -> T + Send + Sync + 'static,
) -> (Log, Result<loom_agent::AgentOutcome, loom_agent::AgentError>) {
    let (log, script) = (Log::default(), Script::of([asks([("find", r#"{"q":"canary"}"#)])]));
    let seen = log.clone();
    let find = act("find", move |query: Query<T>, origins| {
        seen.say(serde_json::to_string(&query).unwrap());
        async move { Ok(Tainted::new("found".to_owned(), origins)) }
    });
    let runtime = runtime(&script, |builder| builder.effect(find));
    let find: Tool<Query<T>, Tainted<String>> = runtime.tool("find").unwrap();
    let tool = AgentTool::new(find, spec("find"), move |arguments| {
        Ok(Query { q: read(arguments.field::<String>("q")?) })
    });
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(tool).build().unwrap();
    (log, runner.run(&caller(&runtime), "hi").await)
}

/// D9: a tool whose input has a fenced field gets the model's words there, and its result has their origins too.
#[tokio::test]
async fn a_fenced_field_takes_the_models_words() {
    let (log, outcome) = found(Fenced::from).await;
    assert_eq!(log.lines(), [r#"{"q":{"$tainted":{"origins":["llm:agent"],"value":"canary"}}}"#]);
    let transcript = outcome.unwrap().report.transcript;
    let Message::Tool { content, .. } = &transcript[2] else { panic!("no result") };
    assert_eq!((content.expose_tainted().as_str(), content.origins().len()), ("found", 2));
    assert!(content.origins().contains(&TaintOrigin::llm("agent")));
}

/// D9: taint anywhere else in a tool's input is refused by the request guard, and that ends the run.
#[tokio::test]
async fn taint_outside_a_fence_ends_the_run() {
    let (log, outcome) = found(|text| text).await;
    let error = outcome.unwrap_err();
    let AgentFault::ToolRefused { tool, error } = error.fault() else { panic!("{error}") };
    assert_eq!((tool.as_str(), error.name()), ("find", ErrorName::UntrustedContent));
    assert!(log.lines().is_empty());
}

type Seen = Arc<Mutex<Vec<(String, u32)>>>;

/// Where unwraps of this file were seen; the hook is the process's one.
fn unwraps() -> Seen {
    static SEEN: OnceLock<Seen> = OnceLock::new();
    let install = || {
        let seen = Seen::default();
        let noted = Arc::clone(&seen);
        audit::install(move |event| {
            if event.kind == UnwrapKind::Unwrap && event.location.file().ends_with("arguments.rs") {
                noted.lock().unwrap().push((event.origins.to_string(), event.location.line()));
            }
        })
        .unwrap();
        seen
    };
    Arc::clone(SEEN.get_or_init(install))
}

/// D9: a tool that takes untrusted arguments says so where it is registered, and that line is the audit trail.
#[tokio::test]
async fn an_unwrapping_tool_is_audited_where_it_is_registered() {
    let seen = unwraps();
    let line = line!() + 3;
    let tool = |runtime: &EffectRuntime| {
        let echo = runtime.tool::<Value, String>("echo").unwrap();
        AgentTool::unwrapping(echo, spec("echo"), |arguments| arguments.unwrap_tainted())
    };
    let (given, told) = called(r#"{"n":1}"#, tool).await;
    assert_eq!((given, told.as_str()), (vec![r#"{"n":1}"#.to_owned()], r#"tool#id0: did {"n":1}"#));
    assert_eq!(*seen.lock().unwrap(), [("llm:agent".to_owned(), line)]);
}

#[tokio::test]
async fn an_unwrapping_tool_refuses_what_is_not_its_type() {
    let tool = |runtime: &EffectRuntime| {
        let narrow: Tool<Query<u32>, String> = runtime.tool("narrow").unwrap();
        AgentTool::unwrapping(narrow, spec("narrow"), |arguments| arguments.unwrap_tainted())
    };
    for (arguments, told) in [(r#"{"q":7}"#, "tool#id0: 7"), (r#"{"q":"7"}"#, TOLD), ("", TOLD)] {
        let script = Script::of([asks([("narrow", arguments)])]);
        let narrow = act("narrow", |query: Query<u32>, _| async move { Ok(query.q.to_string()) });
        let runtime = runtime(&script, |builder| builder.effect(narrow));
        let runner =
            AgentRunner::builder(runtime.tool("agent").unwrap()).tool(tool(&runtime)).build().unwrap();
        let report = runner.run(&caller(&runtime), "hi").await.unwrap().report;
        assert_eq!(lines(&report.transcript)[2], told);
    }
}
