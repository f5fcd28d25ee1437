//! Conversations as they are sent: roles, calls and the results of tools.

use loom_classify::{Fenced, TaintOrigin, Tainted};
use loom_llm::{ChatRequest, Message, ToolCall};
use serde_json::{Value, json};

use super::turns::turn;
use super::{is_unsendable, sent, sent_body};

fn said(text: &str) -> Fenced<String> {
    Tainted::new(text.to_owned(), TaintOrigin::llm("plan")).into()
}

fn tool_call(id: Option<&str>, name: Option<&str>, arguments: &str) -> Fenced<ToolCall> {
    let mut call = ToolCall::default();
    call.id = id.map(str::to_owned);
    call.name = name.map(str::to_owned);
    call.arguments = arguments.to_owned();
    Tainted::new(call, TaintOrigin::llm("plan")).into()
}

fn assistant(text: &str, tool_calls: Vec<Fenced<ToolCall>>) -> Message {
    Message::Assistant { content: said(text), tool_calls, turn: None }
}

fn result(id: &str, text: &str) -> Message {
    Message::tool(said(id), said(text))
}

fn asked(messages: Vec<Message>) -> ChatRequest {
    ChatRequest::new("m", messages)
}

async fn contents(messages: Vec<Message>) -> Value {
    sent_body(&asked(messages)).await["contents"].take()
}

#[tokio::test]
async fn a_conversation_alternates_between_two_sides() {
    let body = sent_body(&asked(vec![
        Message::system("be brief"),
        Message::user("a"),
        Message::user("b"),
        Message::system("be kind"),
        assistant("c", Vec::new()),
        assistant("d", Vec::new()),
        assistant("", Vec::new()),
        Message::user(""),
        Message::user("e"),
    ]))
    .await;
    let texts = |texts: &[&str]| -> Value { texts.iter().map(|text| json!({"text": text})).collect() };
    let expected = json!({
        "systemInstruction": {"parts": texts(&["be brief", "be kind"])},
        "contents": [
            {"role": "user", "parts": texts(&["a", "b"])},
            {"role": "model", "parts": texts(&["c", "d"])},
            {"role": "user", "parts": texts(&["e"])}]});
    assert_eq!(body, expected);
}

#[tokio::test]
async fn calls_and_all_their_results_stand_in_one_content_each() {
    let calls = vec![
        tool_call(Some("1"), Some("f"), "{\"a\":1}"),
        tool_call(Some("2"), Some("g"), ""),
        tool_call(Some("3"), Some("f"), " null "),
    ];
    let contents = contents(vec![
        Message::user("go"),
        assistant("calling", calls),
        result("3", "three"),
        result("1", "{\"error\": \"text of its own\"}"),
        Message::tool_error(said("2"), said("it broke")),
        Message::user("and?"),
    ])
    .await;
    let answer = |id: &str, name: &str, response: Value| json!({"functionResponse": {"id": id, "name": name, "response": response}});
    let expected = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"text": "calling"},
            {"functionCall": {"id": "1", "name": "f", "args": {"a": 1}}},
            {"functionCall": {"id": "2", "name": "g", "args": {}}},
            {"functionCall": {"id": "3", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [
            answer("3", "f", json!({"result": "three"})),
            answer("1", "f", json!({"result": "{\"error\": \"text of its own\"}"})),
            answer("2", "g", json!({"error": "it broke"})),
            {"text": "and?"}]}]);
    assert_eq!(contents, expected);
}

#[tokio::test]
async fn results_of_calls_without_ids_answer_them_in_their_order() {
    let calls = || vec![tool_call(None, Some("f"), "{}"), tool_call(Some(""), Some("g"), "{}")];
    let in_order = contents(vec![assistant("", calls()), result("", "x"), result("", "x")]).await;
    let answers =
        ["f", "g"].map(|name| json!({"functionResponse": {"name": name, "response": {"result": "x"}}}));
    assert_eq!(in_order[1]["parts"], json!(answers));
    assert_eq!(in_order[0]["parts"][0], json!({"functionCall": {"name": "f", "args": {}}}));
    let with_ids = vec![tool_call(Some("a"), Some("f"), "{}"), tool_call(Some("b"), Some("g"), "{}")];
    let contents = contents(vec![assistant("", with_ids), result("", "x"), result("", "y")]).await;
    assert_eq!(contents[1]["parts"][1]["functionResponse"]["id"], "b");
}

/// Complaint 6: arguments go back as the very JSON that came.
#[tokio::test]
async fn arguments_are_sent_as_they_were_written() {
    let written = "{ \"b\" : 1.50,\"a\":[1e999] }";
    let (_, body) = sent(&asked(vec![assistant("", vec![tool_call(None, Some("f"), written)])])).await;
    assert!(body.contains(&format!("\"args\":{written}")), "{body}");
}

/// Complaint 13: what is no object goes out as the text that the model wrote, in a field that says so.
#[tokio::test]
async fn arguments_that_are_no_object_are_sent_as_what_cannot_be_read() {
    for arguments in ["[]", "7", "\"{}\"", "{", "{}{}", "nonsense"] {
        let message = assistant("", vec![tool_call(None, Some("f"), arguments)]);
        let kept = turn("google", json!([{"functionCall": {"name": "f", "args": arguments}}]));
        for message in [message, kept] {
            let body = sent_body(&asked(vec![message])).await;
            let args = &body["contents"][0]["parts"][0]["functionCall"]["args"];
            assert_eq!(*args, json!({"unreadable_arguments": arguments}));
        }
    }
}

/// No result goes to a call that it does not name.
#[tokio::test]
async fn what_answers_no_call_or_calls_no_tool_is_not_sent() {
    let one = || assistant("", vec![tool_call(Some("a"), Some("f"), "{}")]);
    for messages in [
        vec![assistant("", vec![tool_call(None, None, "{}")])],
        vec![assistant("", vec![tool_call(None, Some(""), "{}")])],
        vec![assistant("", vec![tool_call(None, Some("f"), "{}")]), result("made-up", "x")],
        vec![result("a", "x")],
        vec![result("", "x")],
        vec![one(), result("b", "x")],
        vec![one(), result("a", "x"), result("a", "x")],
        vec![one(), Message::user("and?"), assistant("no", Vec::new()), result("a", "x")],
    ] {
        assert!(is_unsendable(&asked(messages)).await);
    }
}
