//! The loop over a real connection: two steps in the chat-completions dialect, as event streams on loopback.

use loom_agent::{AgentEnd, AgentRunner, agent_model};
use loom_effect_runtime::{EffectRuntime, Usage};
use loom_llm::http::HttpConfig;
use loom_llm::openai::OpenAiCompatible;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::stage::*;

/// A server that answers one connection after the other with these replies, and gives the bodies that it was sent.
pub(crate) async fn serve(replies: Vec<String>) -> (String, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let mut bodies = Vec::new();
        for reply in replies {
            let (mut socket, _) = listener.accept().await.unwrap();
            bodies.push(read_body(&mut socket).await);
            socket.write_all(reply.as_bytes()).await.unwrap();
        }
        bodies
    });
    (url, served)
}

async fn read_body(socket: &mut TcpStream) -> Value {
    let (mut bytes, mut packet) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return body;
        }
        let read = socket.read(&mut packet).await.unwrap();
        assert!(read > 0, "the request ended early");
        bytes.extend_from_slice(&packet[..read]);
    }
}

/// A reply as a stream of events.
pub(crate) fn streamed(events: &[Value]) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    [head.to_owned()].into_iter().chain(events).collect()
}

/// A reply as one document.
pub(crate) fn document(reply: &Value) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{reply}")
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn spent(input: u64, output: u64) -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}})
}

/// D4, D9: two steps over the wire: the tool call comes in pieces, its result goes back under its id, and the live text
/// of both steps is seen.
#[tokio::test]
async fn a_tool_is_called_over_the_wire_and_its_result_goes_back() {
    let first = vec![
        delta(json!({"content": "let me see"})),
        delta(json!({"tool_calls": [{"index": 0, "id": "call_7", "type": "function",
            "function": {"name": "echo", "arguments": "{\"n\""}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]})),
        end("tool_calls"),
        spent(20, 5),
    ];
    let second = vec![delta(json!({"content": "done"})), end("stop"), spent(30, 2)];
    let (url, served) = serve([first, second].map(|events| streamed(&events)).into()).await;
    let provider = OpenAiCompatible::new("peer", HttpConfig::new(url)).unwrap();
    let (log, live) = (Log::default(), Log::default());
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .effect(agent_model("agent", provider).model("m").build())
        .effect(echo(&log))
        .build()
        .unwrap();
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap())
        .system("be brief")
        .tool(any(&runtime, "echo"))
        .build()
        .unwrap();
    let seen = live.clone();
    let run = runner.run(&caller(&runtime), "hi").on_delta(move |_, delta| {
        seen.say(delta.text().unwrap_tainted());
    });
    let outcome = within(run).await.unwrap();

    assert_eq!((outcome.end, outcome.reply.content.expose_tainted().as_str()), (AgentEnd::Answered, "done"));
    assert_eq!((outcome.report.usage, outcome.report.silent_steps), (Some(Usage::new(50, 7)), 0));
    assert_eq!(log.lines(), [r#"{"n":1}"#]);
    assert_eq!(live.lines(), ["let me see", "", "done", ""]);
    let bodies = within(served).await.unwrap();
    assert_eq!(bodies[0]["tools"][0]["function"]["name"], "echo");
    let messages = bodies[1]["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    let call = &messages[2]["tool_calls"][0];
    assert_eq!((&call["id"], &call["function"]["arguments"]), (&json!("call_7"), &json!(r#"{"n":1}"#)));
    assert_eq!(
        (&messages[3]["tool_call_id"], &messages[3]["content"]),
        (&json!("call_7"), &json!(r#"did {"n":1}"#))
    );
}
