//! A model server that does what a test says, down to the byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

/// A server on loopback; each connection runs the script with its number, from 0.
pub(crate) struct Peer {
    port: u16,
    requests: Receiver<Request>,
}

/// What a client sent.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Peer {
    pub(crate) fn serve(script: impl Fn(usize, &mut Answer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { continue };
                let Some(request) = read(&stream) else { continue };
                if sender.send(request).is_err() {
                    return;
                }
                script(number, &mut Answer(stream));
            }
        });
        Self { port, requests }
    }

    /// A server that answers every request with these pieces.
    pub(crate) fn saying(pieces: &[&str]) -> Self {
        let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        Self::serve(move |_, answer| {
            answer.begin();
            pieces.iter().for_each(|piece| answer.say(piece));
            answer.end();
        })
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

/// One answer under way.
pub(crate) struct Answer(TcpStream);

impl Answer {
    pub(crate) fn begin(&mut self) {
        self.raw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    }

    pub(crate) fn say(&mut self, text: &str) {
        let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
        self.raw(&format!("data: {}\n\n", json!({"choices": [choice]})));
    }

    pub(crate) fn end(&mut self) {
        let choice = json!({"index": 0, "delta": {}, "finish_reason": "stop"});
        self.raw(&format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice]})));
    }

    /// Answers with a status and a body.
    pub(crate) fn status(&mut self, status: &str, kind: &str, body: &str) {
        let length = body.len();
        self.raw(&format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ));
    }

    /// Sends what the client may not want to hear any more.
    pub(crate) fn raw(&mut self, text: &str) {
        let _ = self.0.write_all(text.as_bytes()).and_then(|()| self.0.flush());
    }

    /// Waits until the client has closed the connection.
    pub(crate) fn wait_for_hang_up(&mut self) {
        let mut byte = [0];
        while matches!(self.0.read(&mut byte), Ok(1..)) {}
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length =
        head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { head, body: serde_json::from_slice(&body).ok()? })
}
