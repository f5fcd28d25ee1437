//! A scripted model in this process, behind real HTTP and server-sent events on loopback.
//!
//! It stands where a provider would: the same wire, decoder, guards and retry see it, so that every way a stream can
//! go is there to be tried without a key or a network.

mod http;
mod script;

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use script::{Script, Wanted};

/// The pause between two pieces, so that a person sees them come, in milliseconds.
const PIECE_PAUSE_MS: u64 = 5;

/// How the offline model behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Answers by rule.
    #[default]
    Normal,
    /// Breaks the connection once, in the middle of its first answer.
    Flaky,
    /// Puts a payment card number into its answer.
    Leaky,
    /// Answers prose where a plan was asked for.
    Nonsense,
}

/// The running server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct OfflineModel {
    port: u16,
    task: JoinHandle<()>,
}

impl OfflineModel {
    /// Listens on a free port of the loopback address.
    pub(crate) async fn serve(mode: Mode) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let answered = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(async move {
            // A peer that fails only loses its own connection.
            while let Ok((stream, _)) = listener.accept().await {
                let answered = Arc::clone(&answered);
                tokio::spawn(async move { drop(converse(stream, mode, &answered).await) });
            }
        });
        Ok(Self { port, task })
    }

    /// The base URL to ask it under.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

impl Drop for OfflineModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, mode: Mode, answered: &AtomicBool) -> io::Result<()> {
    let Some(request) = http::read(&mut stream).await? else {
        return http::refuse(&mut stream, "400 Bad Request", "expected an HTTP/1.1 request").await;
    };
    if request.path != "/v1/chat/completions" {
        return http::refuse(&mut stream, "404 Not Found", "expected /v1/chat/completions").await;
    }
    if request.method != "POST" {
        return http::refuse(&mut stream, "405 Method Not Allowed", "expected POST").await;
    }
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        return http::refuse(&mut stream, "400 Bad Request", "expected a JSON body").await;
    };
    let first = !answered.swap(true, Ordering::Relaxed);
    let wanted = if body.get("response_format").is_some() { Wanted::Plan } else { Wanted::Text };
    let script = Script::of(mode, wanted, last_words(&body), body["max_tokens"].as_u64(), first);
    let usage = json!({
        "prompt_tokens": content_bytes(&body).div_ceil(4),
        "completion_tokens": script.pieces.len(),
        "total_tokens": content_bytes(&body).div_ceil(4) + script.pieces.len(),
    });
    if body["stream"] == json!(true) {
        stream_answer(&mut stream, &script, usage, body["stream_options"]["include_usage"] == json!(true))
            .await
    } else {
        let choice = json!({
            "index": 0,
            "message": {"role": "assistant", "content": script.pieces.concat()},
            "finish_reason": finish_reason(&script),
        });
        let answer = json!({"object": "chat.completion", "choices": [choice], "usage": usage});
        http::respond(&mut stream, "200 OK", &answer).await
    }
}

async fn stream_answer(stream: &mut TcpStream, script: &Script, usage: Value, tells: bool) -> io::Result<()> {
    let chunk = |choices: Value, usage: Option<&Value>| {
        let mut chunk = json!({"object": "chat.completion.chunk", "choices": choices});
        if let Some(usage) = usage {
            chunk["usage"] = usage.clone();
        }
        chunk.to_string()
    };
    let mut events = http::Events::begin(stream).await?;
    for (at, piece) in script.pieces.iter().enumerate() {
        if script.breaks_after == Some(at) {
            // The connection closes in the middle of the chunked body.
            return Ok(());
        }
        let choice = json!([{"index": 0, "delta": {"content": piece}, "finish_reason": null}]);
        events.send(&chunk(choice, None)).await?;
        tokio::time::sleep(Duration::from_millis(PIECE_PAUSE_MS)).await;
    }
    events
        .send(&chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(script)}]), None))
        .await?;
    if tells {
        events.send(&chunk(json!([]), Some(&usage))).await?;
    }
    events.send("[DONE]").await?;
    events.end().await
}

fn finish_reason(script: &Script) -> &'static str {
    if script.cut { "length" } else { "stop" }
}

/// The last words of the user.
fn last_words(body: &Value) -> &str {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let user = messages.iter().rev().find(|message| message["role"] == json!("user"));
    user.and_then(|message| message["content"].as_str()).unwrap_or_default()
}

fn content_bytes(body: &Value) -> usize {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    messages.iter().filter_map(|message| message["content"].as_str()).map(str::len).sum()
}
