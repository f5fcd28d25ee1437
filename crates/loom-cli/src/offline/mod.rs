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

use serde::Deserialize;
use serde::de::IgnoredAny;
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

/// What of a request the offline model heeds.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    messages: Vec<Said>,
    max_tokens: Option<u64>,
    response_format: Option<IgnoredAny>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
    #[serde(default)]
    content: String,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl Asked {
    fn last_words(&self) -> &str {
        let user = self.messages.iter().rev().find(|message| message.role == "user");
        user.map_or("", |message| &message.content)
    }

    /// Usage as the dialect tells it: a token of a prompt is four bytes, one of an answer is a piece.
    fn usage(&self, script: &Script) -> Value {
        let prompt = self.messages.iter().map(|message| message.content.len()).sum::<usize>().div_ceil(4);
        let completion = script.pieces.len();
        json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
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
    let Ok(asked) = serde_json::from_slice::<Asked>(&request.body) else {
        return http::refuse(&mut stream, "400 Bad Request", "expected a chat-completions request").await;
    };
    let first = !answered.swap(true, Ordering::Relaxed);
    let wanted = if asked.response_format.is_some() { Wanted::Plan } else { Wanted::Text };
    let script = Script::of(mode, wanted, asked.last_words(), asked.max_tokens, first);
    let usage = asked.usage(&script);
    if asked.stream {
        let usage = asked.stream_options.is_some_and(|options| options.include_usage).then_some(usage);
        return stream_answer(&mut stream, &script, usage).await;
    }
    let choice = json!({
        "index": 0,
        "message": {"role": "assistant", "content": script.pieces.concat()},
        "finish_reason": finish_reason(&script),
    });
    let answer = json!({"object": "chat.completion", "choices": [choice], "usage": usage});
    http::respond(&mut stream, "200 OK", &answer).await
}

async fn stream_answer(stream: &mut TcpStream, script: &Script, usage: Option<Value>) -> io::Result<()> {
    const CHUNK: &str = "chat.completion.chunk";
    let choice = |delta: Value, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"object": CHUNK, "choices": [choice]}).to_string()
    };
    let mut events = http::Events::begin(stream).await?;
    for (at, piece) in script.pieces.iter().enumerate() {
        if script.breaks_after == Some(at) {
            // The connection closes in the middle of the chunked body.
            return Ok(());
        }
        events.send(&choice(json!({"content": piece}), None)).await?;
        tokio::time::sleep(Duration::from_millis(PIECE_PAUSE_MS)).await;
    }
    events.send(&choice(json!({}), Some(finish_reason(script)))).await?;
    if let Some(usage) = usage {
        events.send(&json!({"object": CHUNK, "choices": [], "usage": usage}).to_string()).await?;
    }
    events.send("[DONE]").await?;
    events.end().await
}

fn finish_reason(script: &Script) -> &'static str {
    if script.cut { "length" } else { "stop" }
}
