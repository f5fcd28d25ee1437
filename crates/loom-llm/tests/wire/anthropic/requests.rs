//! What the wire gets, compared whole.

use loom_classify::{Fenced, TaintOrigin, Tainted};
use loom_llm::anthropic::{Anthropic, MAX_TOKENS_DEFAULT};
use loom_llm::http::HttpConfig;
use loom_llm::{
    ApiKey, ChatRequest, Image, Message, Provider, ProviderError, ProviderFault, ProviderTurn,
    ResponseFormat, ToolCall, ToolChoice, ToolSpec,
};
use serde_json::{Value, json};

use super::{provider, stop, stream};
use crate::peer::{Act, Peer, STREAM_HEAD, within};

/// The body that the peer is sent for a streamed request, as it stands on the wire.
async fn sent(request: &ChatRequest) -> Result<String, ProviderError> {
    let answer = Act::Send([STREAM_HEAD.as_bytes(), &stream(&[stop()])].concat());
    let mut peer = Peer::start(vec![vec![answer]]).await;
    drop(within(provider(&peer).stream(request)).await?);
    Ok(peer.request().await.split_once("\r\n\r\n").unwrap().1.to_owned())
}

async fn body(request: &ChatRequest) -> Value {
    serde_json::from_str(&sent(request).await.unwrap()).unwrap()
}

async fn turns(messages: Vec<Message>) -> Value {
    body(&ChatRequest::of(messages)).await["messages"].take()
}

async fn assert_unsendable(request: ChatRequest) {
    let error = sent(&request).await.unwrap_err();
    assert_eq!(error.fault(), &ProviderFault::Unsendable, "{request:?}");
}

pub(super) fn fenced<T>(value: T) -> Fenced<T> {
    Tainted::new(value, TaintOrigin::llm("plan")).into()
}

fn call(id: Option<&str>, name: Option<&str>, arguments: &str) -> Fenced<ToolCall> {
    let mut call = ToolCall::default();
    (call.id, call.name) = (id.map(str::to_owned), name.map(str::to_owned));
    call.arguments = arguments.to_owned();
    fenced(call)
}

fn assistant(text: &str, tool_calls: Vec<Fenced<ToolCall>>) -> Message {
    Message::Assistant { content: fenced(text.to_owned()), tool_calls, turn: None }
}

fn with_turn(dialect: &str, content: Value, tool_calls: Vec<Fenced<ToolCall>>) -> Message {
    let turn = Some(fenced(ProviderTurn::new(dialect, content)));
    Message::Assistant { content: fenced("plain".to_owned()), tool_calls, turn }
}

fn result(id: &str, text: &str) -> Message {
    Message::tool(fenced(id.to_owned()), fenced(text.to_owned()))
}

/// D9: what models and tools said leaves its fence here, on its way to the model.
#[tokio::test]
async fn a_whole_conversation_is_written_in_the_dialect() {
    let images = vec![
        Image::Url("https://host/a.png".to_owned()),
        Image::Data { media_type: "image/png".to_owned(), base64: "AAAA".to_owned() },
        Image::Url("data:image/gif;base64,BBBB".to_owned()),
    ];
    let request = ChatRequest::new(
        "claude",
        vec![
            Message::system("be brief\n"),
            Message::user_with_images("what is this?", images),
            assistant(
                "let me see",
                vec![call(Some("a"), Some("look"), "{\"x\": 1}"), call(Some("b"), Some("ls"), "")],
            ),
            result("b", "none"),
            Message::tool_error(fenced("a".to_owned()), fenced("no such thing".to_owned())),
            Message::system(" and kind"),
            Message::user("go on"),
        ],
    )
    .with_max_tokens(512)
    .with_temperature(0.0)
    .with_stop(vec!["END".to_owned()])
    .with_tools(vec![
        ToolSpec::new("look", "looks", json!({"type": "object"})),
        ToolSpec::new("ls", "", json!({"type": "object", "properties": {}})),
    ])
    .with_tool_choice(ToolChoice::Required)
    .with_response_format(ResponseFormat::json_schema("plan", json!({"type": "object"})))
    .with_extra("thinking", json!({"type": "adaptive"}))
    .with_extra("output_config", json!({"effort": "low"}));
    let expected = json!({
        "model": "claude",
        "max_tokens": 512,
        "system": [{"type": "text", "text": "be brief\n"}, {"type": "text", "text": " and kind"}],
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "BBBB"}},
                {"type": "text", "text": "what is this?"},
            ]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "ls", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "none"},
                {"type": "tool_result", "tool_use_id": "a", "content": "no such thing", "is_error": true},
                {"type": "text", "text": "go on"},
            ]},
        ],
        "temperature": 0.0,
        "stop_sequences": ["END"],
        "tools": [
            {"name": "look", "description": "looks", "input_schema": {"type": "object"}},
            {"name": "ls", "input_schema": {"type": "object", "properties": {}}},
        ],
        "tool_choice": {"type": "any"},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}, "effort": "low"},
        "thinking": {"type": "adaptive"},
        "stream": true,
    });
    assert_eq!(body(&request).await, expected);
}

#[tokio::test]
async fn what_is_not_set_is_not_sent_but_for_the_bound_that_the_api_demands() {
    let expected = json!({
        "model": "default",
        "max_tokens": MAX_TOKENS_DEFAULT,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": true,
    });
    assert_eq!(body(&ChatRequest::of(vec![Message::user("hi")])).await, expected);
    assert_eq!(MAX_TOKENS_DEFAULT, 4096);
}

#[tokio::test]
async fn each_tool_choice_has_its_word() {
    for (choice, expected) in [
        (ToolChoice::Auto, json!({"type": "auto"})),
        (ToolChoice::None, json!({"type": "none"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("f".to_owned()), json!({"type": "tool", "name": "f"})),
    ] {
        let request = ChatRequest::of(vec![Message::user("hi")]).with_tool_choice(choice);
        assert_eq!(body(&request).await["tool_choice"], expected);
    }
}

#[tokio::test]
async fn the_request_names_its_path_and_version_and_carries_the_key_once() {
    let answer = Act::Send([STREAM_HEAD.as_bytes(), &stream(&[stop()])].concat());
    let mut peer = Peer::start(vec![vec![answer]]).await;
    let config =
        HttpConfig::new(format!("{}/?beta=true", peer.base_url())).with_key(ApiKey::new("sk-key").unwrap());
    let provider = Anthropic::new("peer", config).unwrap();
    assert_eq!(provider.name(), "peer");
    drop(within(provider.stream(&ChatRequest::of(vec![Message::user("hi")]))).await.unwrap());
    let sent = peer.request().await;
    assert!(sent.starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n"), "{sent}");
    assert!(
        sent.contains("x-api-key: sk-key\r\n") && sent.contains("anthropic-version: 2023-06-01\r\n"),
        "{sent}"
    );
    assert_eq!(sent.matches("sk-key").count(), 1);
    assert!(!sent.to_ascii_lowercase().contains("authorization"));
}

#[tokio::test]
async fn blank_text_and_messages_of_nothing_are_left_out() {
    let got = turns(vec![
        Message::system(" \n"),
        Message::user(""),
        Message::user("a"),
        assistant(" ", vec![call(Some("t"), Some("f"), "{}")]),
        result("t", "\n"),
        assistant("", Vec::new()),
        Message::user(" b"),
    ])
    .await;
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": " b"}]},
    ]);
    assert_eq!(got, expected);
    assert!(body(&ChatRequest::of(vec![Message::system(" \n")])).await.get("system").is_none());
}

/// Complaint 13: an object goes out as the bytes that came, and what is none as the text that the model wrote, in a field
/// that says so.
#[tokio::test]
async fn arguments_are_sent_verbatim_or_as_what_cannot_be_read() {
    let written = "{\"b\": 1.50, \"a\": [ 12345678901234567890123 ], \"a\": 2}";
    let request = ChatRequest::of(vec![assistant("", vec![call(Some("t"), Some("f"), written)])]);
    assert!(sent(&request).await.unwrap().contains(&format!("\"input\":{written}")));
    for none in ["", " ", "null"] {
        let got = turns(vec![assistant("", vec![call(Some("t"), Some("f"), none)])]).await;
        assert_eq!(got[0]["content"][0]["input"], json!({}));
    }
    for bad in ["{\"a\":", "[]", "7", "\"{}\"", "{} {}", "{'a': 1}", "nothing"] {
        let block = json!([{"type": "tool_use", "id": "t", "name": "f", "input": bad}]);
        for message in
            [assistant("", vec![call(Some("t"), Some("f"), bad)]), with_turn("anthropic", block, Vec::new())]
        {
            let input = turns(vec![message]).await[0]["content"][0]["input"].take();
            assert_eq!(input, json!({"unreadable_arguments": bad}));
        }
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_written_is_not_sent() {
    let plain = || ChatRequest::of(vec![Message::user("hi")]);
    for name in [
        "model",
        "max_tokens",
        "messages",
        "system",
        "temperature",
        "stop_sequences",
        "stream",
        "tools",
        "tool_choice",
    ] {
        assert_unsendable(plain().with_extra(name, json!(1))).await;
    }
    let formed = || plain().with_response_format(ResponseFormat::json_schema("p", json!({})));
    for config in [json!({"format": {}}), json!("low")] {
        assert_unsendable(formed().with_extra("output_config", config)).await;
    }
    let alone = plain().with_extra("output_config", json!({"effort": "low"}));
    assert_eq!(body(&alone).await["output_config"], json!({"effort": "low"}));
    assert_unsendable(formed().with_extra("output_format", json!({"type": "json_schema"}))).await;
    let format = json!({"type": "json_schema", "schema": {}});
    let alone = plain().with_extra("output_format", format.clone());
    assert_eq!(body(&alone).await["output_format"], format);
    for content in [json!("text"), json!(["text"]), json!([{"text": "no type"}])] {
        assert_unsendable(ChatRequest::of(vec![with_turn("anthropic", content, Vec::new())])).await;
    }
}

#[tokio::test]
async fn a_tool_without_a_name_is_not_sent() {
    let nameless = json!([{"type": "tool_use", "id": "t", "input": ""}]);
    let empty = json!([{"type": "tool_use", "id": "t", "name": "", "input": ""}]);
    for said in [
        assistant("", vec![call(Some("t"), None, "{}")]),
        assistant("", vec![call(Some("t"), Some(""), "{}")]),
        with_turn("anthropic", nameless, Vec::new()),
        with_turn("anthropic", empty, Vec::new()),
    ] {
        assert_unsendable(ChatRequest::of(vec![said])).await;
    }
    let plain = || ChatRequest::of(vec![Message::user("hi")]);
    assert_unsendable(plain().with_tools(vec![ToolSpec::new("", "does f", json!({}))])).await;
    assert_unsendable(plain().with_tool_choice(ToolChoice::Named(String::new()))).await;
}

/// Each result goes to the call that it names or to none: the API refuses a request with any other.
#[tokio::test]
async fn a_result_that_answers_no_call_is_not_sent() {
    let one = || assistant("", vec![call(Some("a"), Some("f"), "{}")]);
    let without_id = || assistant("", vec![call(None, Some("f"), "{}")]);
    for messages in [
        vec![result("", "x")],
        vec![result("a", "x")],
        vec![Message::user("go"), result("a", "x")],
        vec![one(), result("b", "x")],
        vec![without_id(), result("made-up", "x")],
        vec![one(), result("a", "x"), result("a", "x")],
        vec![one(), Message::user("and?"), assistant("no", Vec::new()), result("a", "x")],
    ] {
        assert_unsendable(ChatRequest::of(messages)).await;
    }
}

/// The API demands them there, and takes messages of one side that follow each other for one.
#[tokio::test]
async fn results_stand_before_everything_else_of_their_turn_in_their_order() {
    let image = || Image::Url("https://host/a.png".to_owned());
    let got = turns(vec![
        Message::user("go"),
        assistant("", vec![call(Some("a"), Some("f"), ""), call(Some("b"), Some("g"), "")]),
        Message::user_with_images("meanwhile", vec![image()]),
        result("b", "2"),
        Message::user("and"),
        result("a", "1"),
    ])
    .await;
    let expected = json!([
        {"type": "tool_result", "tool_use_id": "b", "content": "2"},
        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
        {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}},
        {"type": "text", "text": "meanwhile"},
        {"type": "text", "text": "and"},
    ]);
    assert_eq!(got[2]["content"], expected);
}

#[tokio::test]
async fn calls_of_messages_that_are_one_turn_are_all_answered() {
    let block = json!([{"type": "tool_use", "id": "c", "name": "h", "input": ""}]);
    let got = turns(vec![
        assistant("", vec![call(Some("a"), Some("f"), "")]),
        assistant("", vec![call(None, Some("g"), "")]),
        with_turn("anthropic", block, Vec::new()),
        result("c", "3"),
        result("", "2"),
        result("a", "1"),
    ])
    .await;
    let answered: Vec<_> = (0..3).map(|at| &got[1]["content"][at]["tool_use_id"]).collect();
    assert_eq!(answered, ["c", "loom-call-0", "a"]);
}

/// A turn that goes back as it came keeps its ids, so that it is the later call that is given another.
#[tokio::test]
async fn a_call_is_not_sent_under_the_id_of_one_that_went_back_as_it_came() {
    let block = json!([{"type": "tool_use", "id": "t", "name": "f", "input": ""}]);
    let got = turns(vec![
        with_turn("anthropic", block, vec![call(Some("t"), Some("f"), "")]),
        result("t", "first"),
        assistant("", vec![call(Some("t"), Some("g"), "")]),
        result("t", "second"),
    ])
    .await;
    assert_eq!(
        (&got[0]["content"][0]["id"], &got[1]["content"][0]["tool_use_id"]),
        (&json!("t"), &json!("t"))
    );
    let given = json!("loom-call-0");
    assert_eq!((&got[2]["content"][0]["id"], &got[3]["content"][0]["tool_use_id"]), (&given, &given));
}

#[tokio::test]
async fn ids_that_the_api_would_refuse_are_replaced_on_both_sides() {
    let got = turns(vec![
        assistant(
            "",
            vec![
                call(None, Some("f"), ""),
                call(Some("functions.g:1"), Some("g"), ""),
                call(Some("same"), Some("h"), ""),
                call(None, Some("i"), ""),
            ],
        ),
        result("same", "h"),
        result("", "f"),
        result("functions.g:1", "g"),
        result("", "i"),
        assistant("", vec![call(Some("same"), Some("h"), "")]),
        result("same", "h again"),
    ])
    .await;
    let ids = |turn: usize, name: &str| -> Vec<&str> {
        got[turn]["content"].as_array().unwrap().iter().map(|block| block[name].as_str().unwrap()).collect()
    };
    assert_eq!(ids(0, "id"), ["loom-call-0", "loom-call-1", "same", "loom-call-2"]);
    assert_eq!(ids(1, "tool_use_id"), ["same", "loom-call-0", "loom-call-1", "loom-call-2"]);
    assert_eq!((ids(2, "id"), ids(3, "tool_use_id")), (vec!["loom-call-3"], vec!["loom-call-3"]));
}

#[tokio::test]
async fn a_turn_of_another_dialect_is_left_out_and_what_the_api_refuses_of_its_own_too() {
    let got =
        turns(vec![with_turn("google", json!({"parts": []}), vec![call(Some("t"), Some("f"), "{}")])]).await;
    let plain = json!([
        {"type": "text", "text": "plain"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]);
    assert_eq!(got[0]["content"], plain);
    let cut = json!([
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "text", "text": " "},
        {"type": "thinking", "thinking": "unsigned, as some servers have it"},
        {"type": "text", "text": "b"},
        {"type": "server_tool_use", "id": "s", "name": "search", "input": "{\"cut"},
        {"type": "thinking", "thinking": "cut", "signature": ""},
    ]);
    let got = turns(vec![with_turn("anthropic", cut.clone(), Vec::new())]).await;
    assert_eq!(got[0]["content"], json!([cut[0], cut[2], cut[3]]));
}
