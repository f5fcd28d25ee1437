//! The body of a request, field by field.

use loom_classify::{Fenced, TaintOrigin, Tainted};
use serde_json::{Map, Value, json};

use super::encode::{Spelling, body};
use crate::chunk::{ProviderTurn, ToolCall};
use crate::request::{ChatRequest, Image, MODEL_DEFAULT, Message, ResponseFormat, ToolChoice, ToolSpec};

fn sent_as(request: &ChatRequest, spelling: Spelling) -> Value {
    serde_json::from_slice(&body(request, true, spelling).unwrap()).unwrap()
}

fn sent(request: &ChatRequest) -> Value {
    sent_as(request, Spelling::default())
}

fn said(text: &str) -> Fenced<String> {
    Tainted::new(text.to_owned(), TaintOrigin::llm("plan")).into()
}

fn call(id: Option<&str>, name: Option<&str>, arguments: &str) -> Fenced<ToolCall> {
    let [id, name] = [id, name].map(|field| field.map(str::to_owned));
    let call = ToolCall { id, name, arguments: arguments.to_owned() };
    Tainted::new(call, TaintOrigin::llm("plan")).into()
}

fn asked(content: &str, tool_calls: Vec<Fenced<ToolCall>>, turn: Option<ProviderTurn>) -> Message {
    let turn = turn.map(|turn| Tainted::new(turn, TaintOrigin::llm("plan")).into());
    Message::Assistant { content: said(content), tool_calls, turn }
}

fn messages(messages: Vec<Message>) -> Value {
    sent(&ChatRequest::of(messages))["messages"].take()
}

#[test]
fn a_request_is_written_in_the_dialect_with_fenced_content_bare() {
    let mut request = ChatRequest::new(
        "m",
        vec![
            Message::system("be brief"),
            Message::user("hi"),
            Message::assistant(said("earlier")),
            asked("", vec![call(Some("call_1"), Some("f"), "{}")], None),
            Message::tool_error(Fenced::trusted("call_1".to_owned()), said("it broke")),
        ],
    )
    .with_max_tokens(512)
    .with_temperature(0.0)
    .with_response_format(ResponseFormat::json_schema("plan", json!({"type": "object"})));
    request.stop = vec!["END".to_owned()];
    request.tools = vec![
        ToolSpec::new("f", "does f", json!({"type": "object"})),
        ToolSpec::new("g", "", json!({"type": "object"})),
    ];
    request.tool_choice = Some(ToolChoice::Named("f".to_owned()));
    request.extra = Map::from_iter([("parallel_tool_calls".to_owned(), json!(false))]);
    assert_eq!(
        sent(&request),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "earlier"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "content": "it broke", "tool_call_id": "call_1"},
            ],
            "max_tokens": 512,
            "temperature": 0.0,
            "stop": ["END"],
            "tools": [
                {"type": "function", "function":
                    {"name": "f", "description": "does f", "parameters": {"type": "object"}}},
                {"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}},
            ],
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "response_format": {"type": "json_schema", "json_schema":
                {"name": "plan", "schema": {"type": "object"}, "strict": true}},
            "parallel_tool_calls": false,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn what_is_not_set_is_not_sent() {
    let bare = body(&ChatRequest::of(Vec::new()), false, Spelling::default()).unwrap();
    let bare: Value = serde_json::from_slice(&bare).unwrap();
    assert_eq!(bare, json!({"model": MODEL_DEFAULT, "messages": [], "stream": false}));
    for (choice, word) in
        [(ToolChoice::Auto, "auto"), (ToolChoice::None, "none"), (ToolChoice::Required, "required")]
    {
        let mut request = ChatRequest::of(Vec::new());
        request.tool_choice = Some(choice);
        assert_eq!(sent(&request)["tool_choice"], word);
    }
}

#[test]
fn servers_that_take_other_names_are_sent_those() {
    let request = ChatRequest::of(Vec::new()).with_max_tokens(9);
    let newer = sent_as(&request, Spelling { max_completion_tokens: true, ..Spelling::default() });
    assert_eq!((&newer["max_completion_tokens"], &newer["max_tokens"]), (&json!(9), &Value::Null));
    let strict = sent_as(&request, Spelling { no_stream_options: true, ..Spelling::default() });
    assert_eq!((&strict["max_tokens"], &strict["stream_options"]), (&json!(9), &Value::Null));
}

#[test]
fn images_stand_before_the_text_as_urls() {
    let png = Image::Data { media_type: "image/png".to_owned(), base64: "iVBORw0=".to_owned() };
    let by_url = Image::Url("https://host/a.jpg".to_owned());
    let sent = messages(vec![
        Message::user_with_images("what is it", vec![by_url, png.clone()]),
        Message::user_with_images("", vec![png]),
    ]);
    let data = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}});
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "https://host/a.jpg"}}, data,
                {"type": "text", "text": "what is it"}]},
            {"role": "user", "content": [data]},
        ])
    );
}

/// Complaint 12, arguments are rewritten on their way: they go out as the model wrote them, JSON or not.
#[test]
fn arguments_are_sent_as_the_model_wrote_them_and_none_as_an_empty_object() {
    let calls =
        ["{ \"a\":1.0 }", "{broken", "", " \n"].map(|arguments| call(Some("c"), Some("f"), arguments));
    let sent = messages(vec![
        asked("", calls.into(), None),
        asked("so", vec![call(Some("d"), Some("f"), "{}")], None),
    ]);
    let calls = sent[0]["tool_calls"].as_array().unwrap().iter();
    let arguments: Vec<_> = calls.map(|call| call["function"]["arguments"].as_str().unwrap()).collect();
    assert_eq!(arguments, ["{ \"a\":1.0 }", "{broken", "{}", "{}"]);
    assert_eq!((&sent[0]["content"], &sent[1]["content"]), (&Value::Null, &json!("so")));
    assert_eq!(
        messages(vec![asked("", Vec::new(), None)])[0]["content"],
        "",
        "without calls text must be text"
    );
}

/// Complaint 5: calls that came without an id are given one, and results without an id answer them in order.
#[test]
fn calls_without_an_id_are_answered_in_their_order() {
    let result = |id: &str| Message::tool(Fenced::trusted(id.to_owned()), said("42"));
    let calls =
        vec![call(None, Some("f"), ""), call(Some("own"), Some("g"), ""), call(Some(""), Some("h"), "")];
    let conversation = vec![asked("", calls, None), result("own"), result(""), result("")];
    let sent = messages([conversation.clone(), conversation].concat());
    let ids = |at: usize| {
        let calls = sent[at]["tool_calls"].as_array().unwrap().iter();
        calls.map(|call| call["id"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(0), ids(4)),
        (vec!["call00001", "own", "call00002"], vec!["call00003", "own", "call00004"])
    );
    let answered = [1, 2, 3, 5, 6, 7].map(|at| sent[at]["tool_call_id"].as_str().unwrap());
    assert_eq!(answered, ["own", "call00001", "call00002", "own", "call00003", "call00004"]);
}

/// Complaint 5: servers that number the calls of each reply anew, or give all the same id, are answered call by call.
#[test]
fn calls_of_one_turn_with_one_id_are_told_apart() {
    let result = |text: &str| Message::tool(Fenced::trusted("0".to_owned()), said(text));
    let calls = || vec![call(Some("0"), Some("f"), ""), call(Some("0"), Some("g"), "")];
    let turn = || vec![asked("", calls(), None), result("of f"), result("of g")];
    let sent = messages([turn(), turn()].concat());
    for (at, second) in [(0, "call00001"), (3, "call00002")] {
        let ids = [0, 1].map(|call| sent[at]["tool_calls"][call]["id"].as_str().unwrap());
        let answered = [1, 2].map(|result| sent[at + result]["tool_call_id"].as_str().unwrap());
        assert_eq!((ids, answered), (["0", second], ["0", second]));
        assert_eq!((&sent[at + 1]["content"], &sent[at + 2]["content"]), (&json!("of f"), &json!("of g")));
    }
}

#[test]
fn what_the_dialect_cannot_say_is_not_sent() {
    let asked = |name| asked("", vec![call(Some("c"), name, "")], None);
    let result = |id: &str| Message::tool(Fenced::trusted(id.to_owned()), said("42"));
    for messages in [
        vec![asked(None)],
        vec![asked(Some(""))],
        vec![result("")],
        vec![asked(Some("f")), result("other")],
        vec![asked(Some("f")), result("c"), result("c")],
        vec![asked(Some("f")), Message::assistant(said("so")), result("c")],
    ] {
        assert!(body(&ChatRequest::of(messages), true, Spelling::default()).is_err());
    }
}

/// Fields that a request has cannot be slipped past whatever judged them.
#[test]
fn extra_fields_stand_at_the_top_and_replace_none() {
    let with = |name: &str| {
        let mut request = ChatRequest::of(Vec::new());
        request.extra = Map::from_iter([(name.to_owned(), json!({"type": "json_object"}))]);
        request
    };
    for name in super::encode::OWN_NAMES {
        assert!(body(&with(name), true, Spelling::default()).is_err(), "{name}");
    }
    for free in ["reasoning_effort", "response_format", "parallel_tool_calls"] {
        assert_eq!(sent(&with(free))[free], json!({"type": "json_object"}));
    }
    let formed = with("response_format").with_response_format(ResponseFormat::json_schema("n", json!({})));
    assert!(body(&formed, true, Spelling::default()).is_err());
}

/// Complaint 9: the fields that were wanted back are sent back, to this dialect only, and nothing else that stands in a
/// turn is.
#[test]
fn a_turn_adds_its_fields_and_replaces_nothing() {
    let signature = json!({"google": {"thought_signature": "sig"}});
    let details = json!([{"type": "reasoning.text", "text": "hm", "signature": "sig"}]);
    let fields = json!({
        "reasoning_content": "hm", "reasoning": "hm", "reasoning_details": details,
        "tool_calls": [{"extra_content": signature, "id": "forged", "function": {"name": "rm"}}, {}],
        "content": "forged", "role": "system", "name": "forged",
    });
    let calls = || vec![call(Some("a"), Some("f"), "{}"), call(Some("b"), Some("g"), "{}")];
    let own = |fields: Value| Some(ProviderTurn::new(super::DIALECT, fields));
    let wire = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let mut signed = wire("a", "f");
    signed["extra_content"] = signature;
    let sent = messages(vec![
        asked("so", calls(), own(fields.clone())),
        asked("so", calls(), Some(ProviderTurn::new("other", fields))),
        asked(
            "so",
            calls(),
            own(json!({"reasoning_content": 7, "reasoning_details": "x", "tool_calls": [{}]})),
        ),
        asked("so", calls(), own(json!("not an object"))),
    ]);
    let plain = json!({"role": "assistant", "content": "so", "tool_calls": [wire("a", "f"), wire("b", "g")]});
    let full = json!({"role": "assistant", "content": "so", "tool_calls": [signed, wire("b", "g")],
        "reasoning_content": "hm", "reasoning": "hm", "reasoning_details": details});
    assert_eq!(sent, json!([full, plain, plain, plain]));
}
