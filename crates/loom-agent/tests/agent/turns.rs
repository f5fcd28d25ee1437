//! The turns of a run: what the model is asked, in which order tools run, and what it is shown of them.

use std::sync::Arc;

use loom_agent::{AgentBuildError, AgentEnd, AgentLimits, AgentOutcome, AgentRunner, AgentTool, TOOLS_MAX};
use loom_classify::{TaintOrigin, Tainted};
use loom_effect_runtime::{EffectRuntime, Tool, Usage};
use loom_llm::{ChatRequest, LlmChunk, Message, ProviderTurn, ToolChoice};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::stage::*;

#[tokio::test]
async fn the_model_is_shown_the_results_of_its_tools_until_it_answers() {
    let (log, script) = (
        Log::default(),
        Script::of([
            [says("let me see"), asks([("echo", r#"{"n":1}"#), ("echo", r#"{"n":2}"#)])].concat(),
            asks([("echo", r#"{"n":3}"#)]),
            says("six"),
        ]),
    );
    let (runner, ada) = echoing(&script, &log);
    let outcome = runner.run(&ada, "add them up").await.unwrap();
    assert_eq!((outcome.end, outcome.reply.content.expose_tainted().as_str()), (AgentEnd::Answered, "six"));
    let report = &outcome.report;
    assert_eq!((report.steps, report.tool_calls, report.failures), (3, 3, 0));
    let conversation = [
        "user: add them up",
        r#"assistant: let me see [echo({"n":1})#id0] [echo({"n":2})#id1]"#,
        r#"tool#id0: did {"n":1}"#,
        r#"tool#id1: did {"n":2}"#,
        r#"assistant:  [echo({"n":3})#id0]"#,
        r#"tool#id0: did {"n":3}"#,
        "assistant: six",
    ];
    assert_eq!(lines(&report.transcript), conversation);
    let asked: Vec<_> = script.asked().iter().map(|request| lines(&request.messages)).collect();
    assert_eq!(asked, [conversation[..1].to_vec(), conversation[..4].to_vec(), conversation[..6].to_vec()]);
    assert_eq!(log.lines().len(), 3);
    let read: AgentOutcome = serde_json::from_value(serde_json::to_value(&outcome).unwrap()).unwrap();
    assert_eq!(lines(&read.report.transcript), conversation, "a decider may return the whole outcome");
}

#[tokio::test]
async fn every_request_is_made_of_the_template_and_tells_of_the_tools() {
    let script = Script::of([asks([("echo", "{}")])]);
    let runtime = runtime(&script, |builder| builder.effect(echo(&Log::default())));
    let template = ChatRequest::of(vec![Message::system("first")])
        .with_max_tokens(9)
        .with_tools(vec![spec("nobody")])
        .with_tool_choice(ToolChoice::Auto);
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap())
        .template(template)
        .system("then")
        .tool(any(&runtime, "echo"))
        .build()
        .unwrap();
    let outcome = runner.run(&caller(&runtime), "hi").await.unwrap();
    assert_eq!(
        lines(&outcome.report.transcript)[0],
        "user: hi",
        "the runner's own messages are no part of it"
    );
    let asked = script.asked();
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert_eq!(lines(&request.messages)[..3], ["system: first", "system: then", "user: hi"]);
        assert_eq!((request.max_tokens, &request.tool_choice), (Some(9), &Some(ToolChoice::Auto)));
        assert_eq!(request.tools, [spec("echo")]);
    }
}

/// D3: usage is the sum of what was reported, unknown where nothing was, and silence is counted.
#[tokio::test]
async fn usage_is_summed_and_unknown_stays_unknown() {
    let reported =
        |chunk: Option<LlmChunk>| asks([("echo", "{}")]).into_iter().chain(chunk).collect::<Vec<_>>();
    for (replies, expected, silent) in [
        (vec![reported(Some(usage(5, 1))), reported(Some(usage(7, 2)))], Some(Usage::new(12, 3)), 1),
        (vec![reported(None)], None, 2),
    ] {
        let (runner, ada) = echoing(&Script::of(replies), &Log::default());
        let report = runner.run(&ada, "hi").await.unwrap().report;
        assert_eq!((report.usage, report.silent_steps), (expected, silent));
    }
}

#[tokio::test]
async fn results_stand_in_the_order_of_the_calls_and_so_many_run_at_once() {
    for (limits, at_once) in [
        (AgentLimits::default(), 4),
        (AgentLimits::default().with_concurrent_tool_calls(2), 2),
        (AgentLimits::default().in_order(), 1),
    ] {
        let arguments = [0, 1, 2, 3, 4, 5].map(|n| format!(r#"{{"n":{n}}}"#));
        let script = Script::of([asks(arguments.iter().map(|arguments| ("hold", arguments.as_str())))]);
        let (log, gates) = (Log::default(), Arc::new([0; 6].map(|_| Semaphore::new(0))));
        let hold = {
            let (log, gates) = (log.clone(), Arc::clone(&gates));
            act("hold", move |input: Value, _| {
                let n = input["n"].as_u64().unwrap() as usize;
                let (log, gates) = (log.clone(), Arc::clone(&gates));
                log.say(format!("begin {n}"));
                async move {
                    gates[n].acquire().await.unwrap().forget();
                    log.say(format!("end {n}"));
                    Ok(n.to_string())
                }
            })
        };
        let runtime = runtime(&script, |builder| builder.effect(hold));
        let runner = AgentRunner::builder(runtime.tool("agent").unwrap())
            .tool(any(&runtime, "hold"))
            .limits(limits)
            .build()
            .unwrap();
        let run = tokio::spawn(runner.run(&caller(&runtime), "go").into_future());
        settle().await;
        assert_eq!(log.lines().len(), at_once, "{:?}", log.lines());
        // The last of those that run ends first.
        for n in (0..6).rev() {
            gates[n].add_permits(1);
            settle().await;
        }
        let report = run.await.unwrap().unwrap().report;
        let results: Vec<_> =
            lines(&report.transcript).into_iter().filter(|line| line.starts_with("tool")).collect();
        let expected: Vec<_> = (0..6).map(|n| format!("tool#id{n}: {n}")).collect();
        assert_eq!(results, expected);
        if at_once == 1 {
            let in_order: Vec<_> = (0..6).flat_map(|n| [format!("begin {n}"), format!("end {n}")]).collect();
            assert_eq!(log.lines(), in_order);
        }
    }
}

#[tokio::test]
async fn calls_without_an_id_get_one_that_is_unique_in_the_run() {
    let nameless = |given: [Option<&str>; 3]| {
        let chunk = |(call, id): (usize, Option<&str>)| LlmChunk::ToolArguments {
            choice: 0,
            call,
            id: id.map(str::to_owned),
            name: Some("echo".to_owned()),
            arguments: String::new(),
        };
        given.into_iter().enumerate().map(chunk).collect::<Reply>()
    };
    let script = Script::of([nameless([None, Some("given"), Some("")]), nameless([None, None, None])]);
    let (runner, ada) = echoing(&script, &Log::default());
    let report = runner.run(&ada, "hi").await.unwrap().report;
    let ids = |prefix: &str| -> Vec<String> {
        let of =
            |line: &String| line.strip_prefix(prefix).map(|rest| rest.split(": ").next().unwrap().to_owned());
        lines(&report.transcript).iter().filter_map(of).collect()
    };
    let results = ids("tool#");
    assert_eq!(results, ["agent_1_0", "given", "agent_1_2", "agent_5_0", "agent_5_1", "agent_5_2"]);
    let assistant = lines(&report.transcript)[1].clone();
    assert_eq!(assistant, "assistant:  [echo()#agent_1_0] [echo()#given] [echo()#agent_1_2]");
}

/// D9: the provider's own form of a turn goes back as it came, behind its fence; results keep the origins of what is
/// tainted in them and those of unwrapped arguments.
#[tokio::test]
async fn turns_and_results_go_back_with_their_taint() {
    let turn = ProviderTurn::new("script", json!([{"thinking": "…", "signature": "s"}]));
    let with_turn = || [asks([("find", r#"{"q":"x"}"#)]), vec![LlmChunk::Turn(turn.clone())]].concat();
    let script = Script::of([with_turn(), says("done"), with_turn(), says("done")]);
    let find =
        act("find", |_: Value, origins| async move { Ok(json!({"hit": Tainted::new("found", origins)})) });
    let runtime = runtime(&script, |builder| builder.effect(find));
    let find: Tool<Value, Value> = runtime.tool("find").unwrap();
    let tools = [
        (AgentTool::new(find, spec("find"), |_| Ok(json!(1))), "mcp:find"),
        (
            AgentTool::unwrapping(find, spec("find"), |arguments| arguments.unwrap_tainted()),
            "llm:agent, mcp:find",
        ),
    ];
    for (tool, origins) in tools {
        let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(tool).build().unwrap();
        let report = runner.run(&caller(&runtime), "hi").await.unwrap().report;
        let Message::Assistant { turn: Some(sent), .. } = &report.transcript[1] else { panic!("no turn") };
        assert_eq!(
            (sent.expose_tainted(), sent.origins().contains(&TaintOrigin::llm("agent"))),
            (&turn, true)
        );
        let Message::Tool { content, tool_call_id, .. } = &report.transcript[2] else { panic!("no result") };
        assert_eq!(content.expose_tainted(), r#"{"hit":"found"}"#);
        assert_eq!(content.origins().to_string(), origins);
        assert_eq!(tool_call_id.origins().to_string(), "llm:agent");
    }
}

#[tokio::test]
async fn a_conversation_is_continued_from_its_transcript() {
    let script = Script::of([says("one"), says("two")]);
    let (runner, ada) = echoing(&script, &Log::default());
    let mut conversation = runner.run(&ada, "first").await.unwrap().report.transcript;
    conversation.push(Message::user("second"));
    let report = runner.resume(&ada, conversation).await.unwrap().report;
    assert_eq!(
        lines(&report.transcript),
        ["user: first", "assistant: one", "user: second", "assistant: two"]
    );
    assert_eq!(report.steps, 1);
}

#[test]
fn a_runner_is_refused_whose_tools_cannot_be_told_apart_or_named() {
    let runtime: EffectRuntime = runtime(&Script::default(), |builder| builder.effect(echo(&Log::default())));
    let built = |names: Vec<String>| {
        let echo = runtime.tool::<Value, String>("echo").unwrap();
        let builder = AgentRunner::builder(runtime.tool("agent").unwrap());
        let tool =
            |name: &String| AgentTool::unwrapping(echo, spec(name), |arguments| arguments.unwrap_tainted());
        names.iter().fold(builder, |builder, name| builder.tool(tool(name))).build().map(|_| ())
    };
    assert_eq!(built(vec!["a_-9".to_owned(), "b".repeat(64)]), Ok(()));
    let duplicate = AgentBuildError::DuplicateTool { name: "a".to_owned() };
    assert_eq!(built(vec!["a".to_owned(), "b".to_owned(), "a".to_owned()]), Err(duplicate));
    for name in [String::new(), "b".repeat(65), "a b".to_owned(), "mcp.find".to_owned(), "ü".to_owned()] {
        assert_eq!(built(vec![name.clone()]), Err(AgentBuildError::InvalidName { name }));
    }
    let many = (0..=TOOLS_MAX).map(|n| n.to_string()).collect();
    assert_eq!(built(many), Err(AgentBuildError::TooManyTools { tools: TOOLS_MAX + 1 }));
}
