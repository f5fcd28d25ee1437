//! Streamed replies: when sinks hear of them, in which order, and what the reply is made of.

use loom_effect_runtime::engine::EngineCall;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use loom_classify::TaintOrigin;
use loom_effect_runtime::{DeltaKinds, DurableStep, EffectDelta, Identity, Usage};
use loom_llm::chunk::TOOL_CALLS_MAX;
use loom_llm::{ChatRequest, FinishReason, LlmReply, Message};
use serde_json::json;

use super::view::View;
use super::{ask, delta_event, ending, gate, runtime, streamed, texts_then_end, usage_event};
use crate::peer::{Act, Peer, request, text_event, within};

/// D4: both sinks hear of each token while the server still holds the rest back, the per-call sink first.
#[tokio::test]
async fn tokens_reach_both_sinks_before_the_server_has_sent_the_end() {
    let gate = gate();
    // The peer sends the rest only once the last sink of the chain was shown the first token.
    let script =
        vec![Act::Send(text_event("Once ")), Act::Gate(Arc::clone(&gate)), texts_then_end(&["upon"])];
    let peer = Peer::streaming(script).await;
    let per_call = View::new();
    let per_call = per_call.beside("call:");
    let configured = per_call.beside("configured:").opening("Once ", &gate);
    let (runtime, tool) = runtime(ask(peer.provider()).on_delta_sink(configured));
    let call = runtime.invoke_transient(tool, request()).on_delta_sink(per_call.clone()).reported();
    let (reply, report) = within(call).await;
    assert_eq!(reply.unwrap().content.unwrap_tainted(), "Once upon");
    assert!(report.streamed && report.checked);
    let expected = ["call:Once ", "configured:Once ", "call:upon", "configured:upon", "call:<done>"];
    assert_eq!(per_call.lines(), expected);
}

/// D3: usage is what the provider reported, in the reply, in the report and with `done`; absent when it said nothing.
#[tokio::test]
async fn usage_is_the_providers_own_or_absent() {
    for (event, expected, done) in [
        (usage_event(7, 2), Some(Usage::new(7, 2)), "<done Some(7) Some(2)>"),
        (
            super::event(&json!({"choices": [], "usage": {"completion_tokens": 0}}).to_string()),
            Some(Usage { input_tokens: None, output_tokens: Some(0) }),
            "<done None Some(0)>",
        ),
        (Vec::new(), None, "<done>"),
    ] {
        let body = [text_event("a"), event, ending()].concat();
        let peer = Peer::streaming(vec![Act::Send(body)]).await;
        let (runtime, tool) = runtime(ask(peer.provider()));
        let view = View::new();
        let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone()).reported();
        let (reply, report) = within(call).await;
        assert_eq!((reply.unwrap().usage, report.usage), (expected, expected));
        assert_eq!(view.lines(), ["a", done]);
    }
}

/// D20: reasoning and tool arguments go only to a sink that asks; the reply holds them all, and no stop reason streams.
#[tokio::test]
async fn reasoning_and_tool_arguments_are_shown_only_to_who_asks() {
    let call = |index: u64, id: &str, arguments: &str| {
        delta_event(json!({"tool_calls": [{"index": index, "id": id,
            "function": {"name": "look_up", "arguments": arguments}}]}))
    };
    let body = [
        delta_event(json!({"reasoning_content": "hm"})),
        text_event("Hi"),
        call(0, "c0", "{\"a\""),
        call(1, "c1", "{}"),
        call(0, "c0", ": 1}"),
        ending(),
    ]
    .concat();
    let peer = Peer::start(vec![streamed(vec![Act::Send(body.clone())]), streamed(vec![Act::Send(body)])]);
    let (runtime, tool) = runtime(ask(peer.await.provider()));
    let modest = View::new();
    within(async { runtime.invoke_transient(tool, request()).on_delta_sink(modest.clone()).await })
        .await
        .unwrap();
    assert_eq!(modest.lines(), ["Hi", "<done>"]);

    let curious = View::new().wanting(DeltaKinds::ALL);
    let reply =
        within(async { runtime.invoke_transient(tool, request()).on_delta_sink(curious.clone()).await })
            .await
            .unwrap();
    let expected = ["reasoning:hm", "Hi", "tool0:{\"a\"", "tool1:{}", "tool0:: 1}", "<done>"];
    assert_eq!(curious.lines(), expected);
    assert_eq!(reply.reasoning.unwrap().unwrap_tainted(), "hm");
    assert_eq!(reply.finish_reason, Some(FinishReason::Stop));
    let calls: Vec<_> = reply
        .tool_calls
        .into_iter()
        .map(|call| (call.id.unwrap().unwrap_tainted(), call.name.unwrap().unwrap_tainted(), call.arguments))
        .map(|(id, name, arguments)| format!("{id} {name} {}", arguments.unwrap_tainted()))
        .collect();
    assert_eq!(calls, ["c0 look_up {\"a\": 1}", "c1 look_up {}"]);
}

/// D6: a stream that ends well is told as done even where no text was in it, whatever the reply then is.
#[tokio::test]
async fn a_reply_of_the_most_tool_calls_there_may_be_is_whole_and_done() {
    let call = |index: usize| {
        delta_event(json!({"tool_calls": [{"index": index, "function": {"name": "f", "arguments": "{}"}}]}))
    };
    let calls: Vec<u8> = (0..TOOL_CALLS_MAX).flat_map(call).collect();
    let thought = delta_event(json!({"reasoning_content": "hm"}));
    let scripts = [Vec::new(), [thought, text_event("Hi")].concat()];
    let scripts = scripts.map(|said| streamed(vec![Act::Send([said, calls.clone(), ending()].concat())]));
    let peer = Peer::start(scripts.into()).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    for shown in [vec!["<done>"], vec!["Hi", "<done>"]] {
        let view = View::new();
        let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone()).reported();
        let (reply, report) = within(call).await;
        assert_eq!(reply.unwrap().tool_calls.len(), TOOL_CALLS_MAX);
        assert!(report.streamed && report.checked);
        assert_eq!(view.lines(), shown);
    }
}

/// D11: a refusal is text of the answer, so that what was shown is what the reply says, in the order it came.
#[tokio::test]
async fn a_refusal_is_shown_and_stands_in_the_content() {
    let body = [
        delta_event(json!({"refusal": "I will "})),
        text_event("rather "),
        delta_event(json!({"refusal": "not."})),
        ending(),
    ]
    .concat();
    let peer = Peer::streaming(vec![Act::Send(body)]).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let view = View::new();
    let call = runtime.invoke_transient(tool, request()).on_delta_sink(view.clone()).reported();
    let (reply, report) = within(call).await;
    let reply = reply.unwrap();
    assert!(reply.refused && report.checked);
    assert_eq!(reply.content.expose_tainted(), "I will rather not.");
    assert_eq!(view.fold(), "I will rather not.");
}

/// D9: every text of the reply is tainted with `llm:<tool id>`, and its JSON form is the marked wrapper.
#[tokio::test]
async fn the_json_form_of_a_reply_is_the_marked_wrapper_throughout() {
    let body = [
        delta_event(json!({"reasoning_content": "hm"})),
        text_event("Hi"),
        delta_event(
            json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}),
        ),
        usage_event(1, 2),
        ending(),
    ]
    .concat();
    let peer = Peer::streaming(vec![Act::Send(body)]).await;
    let (runtime, _) = runtime(ask(peer.provider()));
    let call = runtime.invoke_transient("ask", json!({"messages": [{"role": "user", "content": "hi"}]}));
    let json = within(async { call.await }).await.unwrap();
    let wrapped = |text: &str| json!({"$tainted": {"origins": ["llm:ask"], "value": text}});
    assert_eq!(
        json,
        json!({
            "content": wrapped("Hi"),
            "reasoning": wrapped("hm"),
            "tool_calls": [{"id": wrapped("c"), "name": wrapped("f"), "arguments": wrapped("{}")}],
            "finish_reason": "stop",
            "usage": {"inputTokens": 1, "outputTokens": 2},
            "turn": {"$tainted": {"origins": ["llm:ask"],
                "value": {"dialect": "openai", "content": {"reasoning_content": "hm"}}}},
        })
    );
    let read: LlmReply = serde_json::from_value(json.clone()).unwrap();
    assert!(read.content.origins().contains(&TaintOrigin::llm("ask")));
    assert_eq!(serde_json::to_value(&read).unwrap(), json, "what is journaled comes back as it was");
}

/// D12: without a per-call sink, on either seam, the configured sink is what the effect declares: it gets the text,
/// never `done`, and tells calls that run at once apart.
#[tokio::test]
async fn one_configured_sink_folds_calls_that_run_at_once() {
    const CALLS: usize = 16;
    let gates: Vec<_> = (0..CALLS).map(|_| gate()).collect();
    let scripts = gates.iter().map(|gate| {
        streamed(vec![Act::Send(text_event("a")), Act::Gate(Arc::clone(gate)), texts_then_end(&["b", "c"])])
    });
    let peer = Peer::start(scripts.collect()).await;
    let shown: Arc<Mutex<HashMap<u64, (String, String)>>> = Arc::default();
    let (view, started) = (Arc::clone(&shown), Arc::new(tokio::sync::Semaphore::new(0)));
    let begun = Arc::clone(&started);
    let (runtime, tool) = runtime(ask(peer.provider()).on_delta(move |call, delta| {
        let EffectDelta::Text { text, .. } = delta else { panic!("neither reset nor done: {delta:?}") };
        let mut view = view.lock().unwrap();
        let (step, fold) = view.entry(call.number()).or_default();
        *step = format!("{} {}", call.execution_id(), call.step_id());
        fold.push_str(text.unwrap_tainted());
        begun.add_permits(1);
    }));
    let caller = runtime.caller(Identity::default());
    let calls: Vec<_> = (0..CALLS)
        .map(|n| {
            let caller = caller.clone();
            tokio::spawn(async move {
                let step = DurableStep::new(format!("step-{n}"), format!("x:step-{n}"));
                if n % 2 == 0 {
                    caller.invoke_transient(tool, request()).durable(step).await
                } else {
                    caller.invoke_transient(tool, request()).await
                }
            })
        })
        .collect();
    // Every call is under way before any of them goes on.
    within(started.acquire_many(CALLS as u32)).await.unwrap().forget();
    gates.iter().for_each(|gate| gate.notify_one());
    for call in calls {
        assert_eq!(within(call).await.unwrap().unwrap().content.unwrap_tainted(), "abc");
    }
    let shown = shown.lock().unwrap();
    assert_eq!(shown.len(), CALLS);
    assert!(shown.values().all(|(_, fold)| fold == "abc"), "{shown:?}");
    let bare = shown.values().filter(|(step, _)| step == "transient:ask ask").count();
    assert_eq!(bare, CALLS / 2, "{shown:?}");
}

/// The effect's model is for requests that name none; bounds pass through.
#[tokio::test]
async fn the_request_reaches_the_wire_with_the_effects_model_where_it_names_none() {
    let mut peer = Peer::start((0..3).map(|_| streamed(vec![texts_then_end(&["a"])])).collect()).await;
    let unnamed = || ChatRequest::of(vec![Message::user("hi")]).with_max_tokens(512).with_temperature(0.5);
    let mut named = unnamed();
    named.model = Some("own".to_owned());
    let (with_default, tool) = runtime(ask(peer.provider()).model("configured"));
    let (without, bare) = runtime(ask(peer.provider()));
    for (runtime, tool, request, model) in [
        (&with_default, tool, unnamed(), "configured"),
        (&with_default, tool, named, "own"),
        (&without, bare, unnamed(), "default"),
    ] {
        within(async { runtime.invoke_transient(tool, request).await }).await.unwrap();
        let sent = peer.request().await;
        for part in
            [format!("\"model\":\"{model}\""), "\"max_tokens\":512".into(), "\"temperature\":0.5".into()]
        {
            assert!(sent.contains(&part), "{part} in {sent}");
        }
    }
}
