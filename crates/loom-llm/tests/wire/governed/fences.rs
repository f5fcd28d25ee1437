//! Taint in a request: let through behind its fence, refused everywhere else, and never sent on its way out.

use loom_classify::{Fenced, TaintOrigin, Tainted};
use loom_effect_runtime::{ErrorName, Input, Step, rewrite};
use loom_llm::{ChatRequest, Message, ResponseFormat, ToolCall};
use serde_json::{Value, json};

use super::{ask, handle, runtime, streamed, texts_then_end};
use crate::peer::{Peer, within};

fn found() -> Tainted<String> {
    Tainted::new("42 degrees".to_owned(), TaintOrigin::new("mcp", "weather"))
}

/// D9: what a tool returned is accepted in its message, reaches the model bare, and its origin joins the reply's, in
/// the live view too.
#[tokio::test]
async fn tainted_tool_content_is_accepted_and_its_origin_joins_the_replys() {
    let mut peer = Peer::start((0..2).map(|_| streamed(vec![texts_then_end(&["hot"])])).collect()).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let mut looks = ToolCall::default();
    (looks.id, looks.name) = (Some("c0".to_owned()), Some("look".to_owned()));
    let messages = vec![
        Message::user("how hot is it"),
        Message::Assistant {
            content: Tainted::new("let me look".to_owned(), TaintOrigin::llm("ask")).into(),
            tool_calls: vec![Tainted::new(looks, TaintOrigin::llm("ask")).into()],
            turn: None,
        },
        Message::tool(Fenced::trusted("c0".to_owned()), found().into()),
    ];
    let request = ChatRequest::new("m", messages);
    let json = serde_json::to_value(&request).unwrap();
    let (sender, mut origins) = tokio::sync::mpsc::unbounded_channel();
    let call = runtime
        .invoke_transient(tool, request)
        .on_delta(move |delta| sender.send(delta.text().origins().to_string()).unwrap());
    let reply = within(call.into_future()).await.unwrap();
    assert_eq!(reply.content.origins().to_string(), "llm:ask, mcp:weather");
    assert_eq!(origins.recv().await.unwrap(), "llm:ask, mcp:weather");
    let sent = peer.request().await;
    assert!(sent.contains(r#"{"role":"tool","content":"42 degrees","tool_call_id":"c0"}"#), "{sent}");

    // The same in JSON form, where the call is made by id.
    let reply = within(runtime.invoke_transient("ask", json).into_future()).await.unwrap();
    assert_eq!(reply["content"]["$tainted"]["origins"], json!(["llm:ask", "mcp:weather"]));
}

/// D9: taint anywhere else is refused before a byte is sent, in JSON form and in the typed one.
#[tokio::test]
async fn taint_outside_its_fence_is_refused_and_nothing_is_sent() {
    let peer = Peer::start(vec![]).await;
    let (runtime, tool) = runtime(ask(peer.provider()));
    let with = |message: Value| json!({"model": "m", "messages": [message]});
    let schema = json!({"type": "object", "const": found()});
    let mut formed = with(json!({"role": "user", "content": "hi"}));
    formed["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    for request in [
        with(json!({"role": "system", "content": found()})),
        with(json!({"role": "user", "content": found()})),
        with(json!({"role": "user", "content": {"$tainted": "looks like it"}})),
        with(json!({"role": "tool", "content": "x", "tool_call_id": "c", "is_error": found()})),
        formed,
    ] {
        let error = within(runtime.invoke_transient("ask", request.clone()).into_future()).await.unwrap_err();
        let name = error.name();
        // Where the field is plain text the JSON form already does not fit the effect's type.
        assert!(matches!(name, ErrorName::UntrustedContent | ErrorName::InputInvalid), "{name}: {request}");
        assert!(!format!("{error:?}").contains("42 degrees"));
    }
    let typed = ChatRequest::new("m", vec![Message::user("hi")])
        .with_response_format(ResponseFormat::json_schema("n", json!({"const": found()})));
    let error = within(runtime.invoke_transient(tool, typed).into_future()).await.unwrap_err();
    assert_eq!(error.name(), ErrorName::UntrustedContent);
    assert_eq!(peer.connections(), 0);
}

/// D9: a rewriter that puts taint into the prompt is refused like anybody else.
#[tokio::test]
async fn taint_that_a_rewriter_adds_is_refused_too() {
    let peer = Peer::start(vec![]).await;
    let leak = rewrite("leak", |_call, input: &mut Input| {
        let form = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"const": found()}}});
        input.edit(|json| json["response_format"] = form).unwrap();
        Step::Go
    });
    let builder = loom_effect_runtime::EffectRuntime::builder().allow_all_calls().input_middleware(leak);
    let (runtime, tool) = handle(builder.effect(ask(peer.provider()).build()).build().unwrap());
    let request = ChatRequest::new("m", vec![Message::user("hi")]);
    let error = within(runtime.invoke_transient(tool, request).into_future()).await.unwrap_err();
    assert_eq!((error.name(), peer.connections()), (ErrorName::UntrustedContent, 0));
}
