//! The turns of a run: what the model is asked, in which order tools run, and what it is shown of them.

use std::sync::Arc;

use loom_agent::{AgentBuildError, AgentEnd, AgentLimits, AgentOutcome, AgentRunner, AgentTool, TOOLS_MAX};
use loom_classify::{TaintOrigin, Tainted};
use loom_effect_runtime::{CallError, EffectRuntime, Refusal, Tool, Usage};
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
        .with_tool_choice(ToolChoice::None);
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
        assert_eq!((request.max_tokens, &request.tool_choice), (Some(9), &Some(ToolChoice::None)));
        assert_eq!(request.tools, [spec("echo")]);
    }
}

/// A model that must call a tool never answers, so a choice that demands it holds for the first step of each run.
#[tokio::test]
async fn a_tool_call_is_demanded_in_the_first_step_alone() {
    for choice in [ToolChoice::Required, ToolChoice::Named("echo".to_owned())] {
        let step = || asks([("echo", "{}")]);
        let script = Script::of([step(), step(), says("done"), says("again")]);
        let runtime = runtime(&script, |builder| builder.effect(echo(&Log::default())));
        let runner = AgentRunner::builder(runtime.tool("agent").unwrap())
            .template(ChatRequest::of(Vec::new()).with_tool_choice(choice.clone()))
            .tool(any(&runtime, "echo"))
            .build()
            .unwrap();
        for _ in 0..2 {
            runner.run(&caller(&runtime), "hi").await.unwrap();
        }
        let asked: Vec<_> = script.asked().into_iter().map(|request| request.tool_choice.unwrap()).collect();
        assert_eq!(asked, [choice.clone(), ToolChoice::Auto, ToolChoice::Auto, choice]);
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
async fn results_go_under_the_ids_of_their_calls_in_the_order_of_the_calls() {
    for ids in [["", "given", ""], ["x", "x", "x"], ["", "agent_1_0", "x"]] {
        let calls = ids.iter().enumerate().map(|(n, id)| asked(id, "echo", n));
        let (runner, ada) = echoing(&Script::of([calls.collect::<Reply>()]), &Log::default());
        let transcript = lines(&runner.run(&ada, "hi").await.unwrap().report.transcript);
        let [a, b, c] = ids;
        let calls = format!(r#"[echo({{"n":0}})#{a}] [echo({{"n":1}})#{b}] [echo({{"n":2}})#{c}]"#);
        assert_eq!(transcript[1], format!("assistant:  {calls}"));
        let results: Vec<_> =
            ids.iter().enumerate().map(|(n, id)| format!(r#"tool#{id}: did {{"n":{n}}}"#)).collect();
        assert_eq!(transcript[2..5], results);
    }
}

/// A result that does not say whose it is would answer the first call that has none.
#[tokio::test]
async fn a_run_that_ends_early_keeps_no_result_that_would_answer_another_call() {
    let calls = ["", "", "x", "y", "y", "z"].into_iter().enumerate().map(|(n, id)| {
        let tool = if n == 0 { "parks" } else { "echo" };
        asked(id, if id == "z" { "denied" } else { tool }, n)
    });
    let script = Script::of([calls.collect::<Reply>()]);
    let parks = act("parks", |_: Value, _| std::future::pending::<Result<String, CallError>>());
    let denied = act("denied", |_: Value, _| async {
        settle().await;
        Err::<String, _>(Refusal::quota("q").into())
    });
    let log = Log::default();
    let runtime = runtime(&script, |builder| builder.effect(parks).effect(denied).effect(echo(&log)));
    let runner = ["parks", "echo", "denied"]
        .into_iter()
        .fold(AgentRunner::builder(runtime.tool("agent").unwrap()), |runner, id| {
            runner.tool(any(&runtime, id))
        })
        .limits(AgentLimits::default().with_concurrent_tool_calls(6));
    let error = within(runner.build().unwrap().run(&caller(&runtime), "hi")).await.unwrap_err();
    assert_eq!(log.lines().len(), 4, "they all ran");
    assert_eq!(lines(&error.report().transcript)[2..], [r#"tool#x: did {"n":2}"#]);
}

/// A call without a name has a result like every other, and no provider takes it back so.
#[tokio::test]
async fn a_call_without_a_name_has_one_in_the_conversation_alone() {
    let turn = LlmChunk::Turn(ProviderTurn::new("script", json!(["as it came"])));
    for given in [None, Some("")] {
        let nameless = LlmChunk::ToolArguments {
            choice: 0,
            call: 0,
            id: Some("id".to_owned()),
            name: given.map(str::to_owned),
            arguments: "{}".to_owned(),
        };
        let script = Script::of([vec![nameless, asked("x", "echo", 1), turn.clone()]]);
        let (runner, ada) = echoing(&script, &Log::default());
        let report = runner.run(&ada, "hi").await.unwrap().report;
        assert_eq!(
            lines(&report.transcript)[1..4],
            [
                r#"assistant:  [unnamed({})#id] [echo({"n":1})#x]"#,
                "tool#id! ToolNotFoundError",
                r#"tool#x: did {"n":1}"#
            ]
        );
        let Message::Assistant { turn, tool_calls, .. } = &report.transcript[1] else { panic!("no turn") };
        assert!(turn.is_none(), "the provider's own form of it has no name");
        assert_eq!(tool_calls[0].origins().to_string(), "llm:agent");
    }
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

#[test]
fn a_runner_is_refused_whose_template_demands_a_tool_that_there_is_not() {
    let runtime: EffectRuntime = runtime(&Script::default(), |builder| builder.effect(echo(&Log::default())));
    let built = |choice, tool: Option<&str>| {
        let template = ChatRequest::of(Vec::new()).with_tools(vec![spec("nobody")]).with_tool_choice(choice);
        let builder = AgentRunner::builder(runtime.tool("agent").unwrap()).template(template);
        tool.into_iter().fold(builder, |builder, id| builder.tool(any(&runtime, id))).build().map(|_| ())
    };
    let named = |name: &str| ToolChoice::Named(name.to_owned());
    let unknown = |name: &str| Err(AgentBuildError::UnknownTool { name: name.to_owned() });
    assert_eq!(built(named("nobody"), Some("echo")), unknown("nobody"));
    assert_eq!(built(named("echo"), None), unknown("echo"));
    assert_eq!(built(ToolChoice::Required, None), Err(AgentBuildError::NoTools));
    for choice in [named("echo"), ToolChoice::Required, ToolChoice::Auto, ToolChoice::None] {
        assert_eq!(built(choice, Some("echo")), Ok(()));
    }
    for choice in [ToolChoice::Auto, ToolChoice::None] {
        assert_eq!(built(choice, None), Ok(()));
    }
}
