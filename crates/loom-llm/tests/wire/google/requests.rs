//! What the wire gets: path, headers and body, compared whole as the peer saw them.

use loom_llm::http::HttpConfig;
use loom_llm::{ApiKey, ChatRequest, Image, Message, Provider, ResponseFormat, ToolChoice, ToolSpec};
use serde_json::{Value, json};

use super::{is_unsendable, sent, sent_body};
use crate::peer::{Peer, reply, within};

fn ask() -> ChatRequest {
    ChatRequest::new("m", vec![Message::user("hi")])
}

#[tokio::test]
async fn a_request_names_model_and_method_in_its_path_and_carries_the_key_once() {
    let (head, body) = sent(&ask()).await;
    assert!(head.starts_with("POST /v1beta/models/m:streamGenerateContent?alt=sse HTTP/1.1\r\n"), "{head}");
    let mut lines: Vec<_> = head.lines().skip(1).filter(|line| !line.starts_with("host: ")).collect();
    lines.sort_unstable();
    let agent = concat!("user-agent: loom-llm/", env!("CARGO_PKG_VERSION"));
    let length = format!("content-length: {}", body.len());
    let expected = [
        "accept: text/event-stream",
        &length,
        "content-type: application/json",
        agent,
        "x-goog-api-key: sk-key",
    ];
    assert_eq!(lines, expected);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}));
}

#[tokio::test]
async fn a_base_url_with_a_query_and_a_bearer_token_is_kept() {
    let mut peer = Peer::start(vec![vec![reply("200 OK", "", &super::end().to_string())]]).await;
    let config = HttpConfig::new(format!("http://{}/v1/?tenant=7", peer.address))
        .with_key(ApiKey::new("token").unwrap())
        .with_key_header("authorization");
    let provider = loom_llm::google::Gemini::new("vertex", config).unwrap();
    let model = "projects/p-1/locations/global/publishers/google/models/gemini-3.1-pro@001";
    within(provider.complete(&ChatRequest::new(model, vec![Message::user("hi")]))).await.unwrap();
    let sent = peer.request().await;
    assert!(sent.starts_with(&format!("POST /v1/{model}:generateContent?tenant=7 HTTP/1.1\r\n")), "{sent}");
    assert!(sent.contains("authorization: Bearer token\r\n") && !sent.contains("x-goog-api-key"));
}

#[tokio::test]
async fn a_model_is_named_as_the_provider_spells_it() {
    for (model, path) in [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("models/x", "models/x"),
        ("tunedModels/my-model_7", "tunedModels/my-model_7"),
        ("publishers/google/models/x", "publishers/google/models/x"),
        ("projects/p/locations/l/endpoints/12", "projects/p/locations/l/endpoints/12"),
    ] {
        let (head, _) = sent(&ChatRequest::new(model, vec![Message::user("hi")])).await;
        let line = format!("POST /v1beta/{path}:streamGenerateContent?alt=sse HTTP/1.1\r\n");
        assert!(head.starts_with(&line), "{head}");
    }
    let (head, _) = sent(&ChatRequest::of(vec![Message::user("hi")])).await;
    assert!(head.starts_with("POST /v1beta/models/default:streamGenerateContent?"), "{head}");
}

#[tokio::test]
async fn no_model_leads_to_another_place() {
    for model in [
        "",
        ".",
        "..",
        "...",
        "/",
        "x/",
        "/x",
        "models/",
        "models/..",
        "../x",
        "models/../files",
        "models/x/y",
        "models//x",
        "files/x",
        "x?key=1",
        "x#y",
        "x%2e%2e",
        "x:predict",
        "a b",
        "x\\y",
        "x\n",
        "modèle",
        "models/x:y",
        "projects/../models/x",
        "projects/p/models",
        "cachedContents/x",
        "x;y",
        "x&y",
        "models/x/..",
    ] {
        let request = ChatRequest::new(model, vec![Message::user("hi")]);
        assert!(is_unsendable(&request).await, "{model:?}");
    }
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({"type": "object", "properties": {"q": {"type": ["string", "null"]}}});
    let request = ask()
        .with_max_tokens(64)
        .with_temperature(0.5)
        .with_stop(vec!["END".to_owned()])
        .with_response_format(ResponseFormat::json_schema("plan", schema.clone()))
        .with_tools(vec![ToolSpec::new("f", "does f", schema.clone()), ToolSpec::new("g", "", json!({}))])
        .with_tool_choice(ToolChoice::Named("f".to_owned()))
        .with_extra("safetySettings", json!([]))
        .with_extra(
            "generationConfig",
            json!({"thinkingConfig": {"includeThoughts": true}, "candidateCount": 2}),
        )
        .with_extra(
            "toolConfig",
            json!({"functionCallingConfig": {"streamFunctionCallArguments": true},
            "retrievalConfig": {"languageCode": "de"}}),
        );
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [
            {"name": "f", "description": "does f", "parametersJsonSchema": schema},
            {"name": "g", "parametersJsonSchema": {}}]}],
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"], "streamFunctionCallArguments": true},
            "retrievalConfig": {"languageCode": "de"}},
        "generationConfig": {"maxOutputTokens": 64, "temperature": 0.5, "stopSequences": ["END"],
            "responseMimeType": "application/json", "responseJsonSchema": schema,
            "thinkingConfig": {"includeThoughts": true}, "candidateCount": 2},
        "safetySettings": []});
    assert_eq!(sent_body(&request).await, expected);
}

#[tokio::test]
async fn each_choice_of_tools_has_its_mode() {
    for (choice, mode) in
        [(ToolChoice::Auto, "AUTO"), (ToolChoice::None, "NONE"), (ToolChoice::Required, "ANY")]
    {
        let body = sent_body(&ask().with_tool_choice(choice)).await;
        assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": mode}}));
    }
}

/// The API takes every name in two spellings, so both are refused.
#[tokio::test]
async fn extra_fields_do_not_replace_what_a_request_has_fields_for() {
    for (name, value) in [
        ("contents", json!([])),
        ("model", json!("other")),
        ("systemInstruction", json!({})),
        ("system_instruction", json!({})),
        ("tools", json!([])),
        ("tool_config", json!({})),
        ("generation_config", json!({})),
        ("generationConfig", json!([])),
        ("generationConfig", json!({"maxOutputTokens": 1})),
        ("generationConfig", json!({"max_output_tokens": 1})),
        ("generationConfig", json!({"temperature": 1})),
        ("generationConfig", json!({"stop_sequences": []})),
        ("toolConfig", json!({"functionCallingConfig": {"mode": "ANY"}})),
        ("toolConfig", json!({"functionCallingConfig": {"allowed_function_names": []}})),
        ("toolConfig", json!({"functionCallingConfig": 7})),
        ("toolConfig", json!({"function_calling_config": {"mode": "ANY"}})),
    ] {
        assert!(is_unsendable(&ask().with_extra(name, value.clone())).await, "{name}: {value}");
    }
    let json_mode = json!({"responseMimeType": "application/json"});
    let request = ask().with_extra("generationConfig", json_mode.clone());
    assert_eq!(sent_body(&request).await["generationConfig"], json_mode);
    let format = ResponseFormat::json_schema("f", json!({}));
    for name in
        ["responseMimeType", "response_schema", "responseJsonSchema", "_responseJsonSchema", "responseFormat"]
    {
        let request =
            ask().with_extra("generationConfig", json!({name: {}})).with_response_format(format.clone());
        assert!(is_unsendable(&request).await, "{name}");
    }
}

#[tokio::test]
async fn a_tool_without_a_name_is_not_sent() {
    assert!(is_unsendable(&ask().with_tools(vec![ToolSpec::new("", "does f", json!({}))])).await);
    assert!(is_unsendable(&ask().with_tool_choice(ToolChoice::Named(String::new()))).await);
}

#[tokio::test]
async fn images_stand_before_the_text_as_data_or_as_files() {
    let data = |media_type: &str, base64: &str| Image::Data {
        media_type: media_type.to_owned(),
        base64: base64.to_owned(),
    };
    let url = |url: &str| Image::Url(url.to_owned());
    let images = vec![
        data("image/png", "aGk="),
        url("https://h/a.JPEG?x=1.png"),
        url("https://generativelanguage.googleapis.com/v1beta/files/abc"),
        url("gs://bucket/cat.webp"),
        url("data:image/gif;base64,R0lG"),
    ];
    let request = ChatRequest::new("m", vec![Message::user_with_images("what?", images)]);
    let expected = json!([
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://h/a.JPEG?x=1.png"}},
        {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}},
        {"fileData": {"mimeType": "image/webp", "fileUri": "gs://bucket/cat.webp"}},
        {"inlineData": {"mimeType": "image/gif", "data": "R0lG"}},
        {"text": "what?"}]);
    assert_eq!(sent_body(&request).await["contents"], json!([{"role": "user", "parts": expected}]));
}
