//! A scripted HTTP peer on loopback: it writes what it is told, byte for byte, and reports what it sees.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use loom_llm::http::{HttpConfig, Timeouts};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::{ChatRequest, Message};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

/// The longest wait for anything that must happen; only a failing test reaches it.
const WAIT: Duration = Duration::from_secs(20);

/// One step of a connection's script. At the end of its script the peer closes.
pub(crate) enum Act {
    /// Write the bytes in one go.
    Send(Vec<u8>),
    /// Write the bytes in packets of that many.
    Split(Vec<u8>, usize),
    /// Write the bytes again and again until the other side is gone.
    Flood(Vec<u8>),
    /// Wait for the gate.
    Gate(Arc<Notify>),
    /// Wait until the other side is gone.
    AwaitHangUp,
    /// Reset the connection.
    Cut,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    /// A whole request, head and body.
    Request(String),
    /// The other side is gone.
    HangUp,
}

pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    seen: mpsc::UnboundedReceiver<Seen>,
}

impl Peer {
    /// A peer whose connections follow the scripts in order; later ones are closed at once.
    pub(crate) async fn start(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (told, seen) = mpsc::unbounded_channel();
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            let mut scripts = scripts.into_iter();
            while let Ok((socket, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                if let Some(script) = scripts.next() {
                    tokio::spawn(play(socket, script, told.clone()));
                }
            }
        });
        Self { address, connections, seen }
    }

    /// A peer with one connection that answers with a stream: the head, then the script.
    pub(crate) async fn streaming(mut script: Vec<Act>) -> Self {
        script.insert(0, Act::Send(STREAM_HEAD.into()));
        Self::start(vec![script]).await
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn provider(&self) -> OpenAiCompatible {
        self.provider_with(Timeouts::default())
    }

    pub(crate) fn provider_with(&self, timeouts: Timeouts) -> OpenAiCompatible {
        OpenAiCompatible::new("peer", HttpConfig::new(self.base_url()).with_timeouts(timeouts)).unwrap()
    }

    pub(crate) async fn saw(&mut self) -> Seen {
        within(self.seen.recv()).await.expect("the peer has ended")
    }

    pub(crate) async fn request(&mut self) -> String {
        match self.saw().await {
            Seen::Request(request) => request,
            Seen::HangUp => panic!("expected a request, saw a hang-up"),
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The head of a streamed reply whose body ends when the connection does.
pub(crate) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

pub(crate) fn reply(status: &str, headers: &str, body: &str) -> Act {
    Act::Send(
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len()).into_bytes(),
    )
}

/// One event with a piece of text.
pub(crate) fn text_event(text: &str) -> Vec<u8> {
    event(&serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string())
}

pub(crate) fn event(data: &str) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

pub(crate) fn request() -> ChatRequest {
    ChatRequest::new("default", vec![Message::user("hi")])
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    timeout(WAIT, future).await.expect("nothing happened within the wait")
}

async fn play(mut socket: TcpStream, script: Vec<Act>, told: mpsc::UnboundedSender<Seen>) {
    socket.set_nodelay(true).unwrap();
    let Some(request) = read_request(&mut socket).await else { return };
    let _ = told.send(Seen::Request(request));
    for act in script {
        let alive = match act {
            Act::Send(bytes) => socket.write_all(&bytes).await.is_ok(),
            Act::Split(bytes, size) => write_split(&mut socket, &bytes, size).await,
            Act::Flood(bytes) => {
                while socket.write_all(&bytes).await.is_ok() {}
                false
            }
            Act::Gate(gate) => {
                gate.notified().await;
                true
            }
            Act::AwaitHangUp => !matches!(socket.read(&mut [0; 64]).await, Ok(0) | Err(_)),
            Act::Cut => {
                socket.set_zero_linger().unwrap();
                return;
            }
        };
        if !alive {
            let _ = told.send(Seen::HangUp);
            return;
        }
    }
}

async fn write_split(socket: &mut TcpStream, bytes: &[u8], size: usize) -> bool {
    for packet in bytes.chunks(size) {
        if socket.write_all(packet).await.is_err() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut packet) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        let read = socket.read(&mut packet).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&packet[..read]);
    }
}
