//! Just enough of HTTP/1.1 to serve one chat-completions endpoint on loopback.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// The most bytes of a request's body: what a governed request may have, and room for its JSON escapes.
const BODY_BYTES_MAX: usize = 48 << 20;

/// A request that was read whole.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// Reads one request; `None` where the peer sent something else than one, or hung up.
pub(super) async fn read(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > HEAD_BYTES_MAX || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let mut body = bytes.split_off(head_end + 4);
    let Ok(head) = std::str::from_utf8(&bytes) else { return Ok(None) };
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path)) = (first.next(), first.next()) else { return Ok(None) };
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    if length > BODY_BYTES_MAX {
        return Ok(None);
    }
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    body.truncate(length);
    Ok(Some(Request { method: method.to_owned(), path: path.to_owned(), body }))
}

/// Sends a whole JSON answer.
pub(super) async fn respond(stream: &mut TcpStream, status: &str, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Sends an error in the dialect's form.
pub(super) async fn refuse(stream: &mut TcpStream, status: &str, message: &str) -> io::Result<()> {
    respond(stream, status, &json!({"error": {"message": message, "type": "invalid_request_error"}})).await
}

/// An event stream that is being sent.
pub(super) struct Events<'a>(&'a mut TcpStream);

impl<'a> Events<'a> {
    /// Sends the head.
    pub(super) async fn begin(stream: &'a mut TcpStream) -> io::Result<Self> {
        const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\
                            transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
        stream.set_nodelay(true)?;
        stream.write_all(HEAD.as_bytes()).await?;
        Ok(Self(stream))
    }

    /// Sends one event.
    pub(super) async fn send(&mut self, data: &str) -> io::Result<()> {
        let event = format!("data: {data}\n\n");
        self.0.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await
    }

    /// Ends the stream as it should end.
    pub(super) async fn end(self) -> io::Result<()> {
        self.0.write_all(b"0\r\n\r\n").await?;
        self.0.shutdown().await
    }
}
