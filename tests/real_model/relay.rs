//! A relay between client and server on loopback: it counts what the server writes, sees who closes first, and cuts
//! connections where it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::model::{base_url, within};

const PACKET_BYTES: usize = 16 * 1024;

/// Where and how a connection ends before its reply does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// The events that the client still gets.
    pub(crate) after_events: usize,
    pub(crate) how: How,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// An orderly close in the middle of the body.
    Close,
    /// A reset, which may overtake what is under way.
    Reset,
}

/// A connection that has ended on both sides.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The events that the server wrote, those after a hang-up included.
    pub(crate) events: usize,
    /// Whether the server's own end mark was among them.
    pub(crate) complete: bool,
    /// When the client was gone, if it went before the server closed.
    pub(crate) hung_up: Option<Instant>,
}

pub(crate) struct Relay {
    address: SocketAddr,
    events: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    ended: mpsc::UnboundedReceiver<Ended>,
}

impl Relay {
    /// A relay to the server that cuts its first connections so, one each, and no others.
    pub(crate) async fn start(cuts: Vec<Cut>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (events, connections) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (told, ended) = mpsc::unbounded_channel();
        let (counted, accepted) = (Arc::clone(&events), Arc::clone(&connections));
        tokio::spawn(async move {
            let mut cuts = cuts.into_iter();
            while let Ok((client, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect(authority()).await.unwrap();
                let transcript = Transcript { bytes: Vec::new(), events: Arc::clone(&counted) };
                let (cut, told) = (cuts.next(), told.clone());
                tokio::spawn(async move {
                    let _ = told.send(carry(client, server, transcript, cut).await);
                });
            }
        });
        Self { address, events, connections, ended }
    }

    pub(crate) fn base_url(&self) -> String {
        let base_url = base_url();
        let path = base_url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        format!("http://{}/{}", self.address, path.map_or("", |(_, path)| path))
    }

    /// The events that the server has written so far, over all connections.
    pub(crate) fn events(&self) -> usize {
        self.events.load(Ordering::SeqCst)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The next connection that has ended.
    pub(crate) async fn ended(&mut self) -> Ended {
        within(self.ended.recv()).await.expect("the relay has ended")
    }
}

/// What a server has written on one connection.
struct Transcript {
    bytes: Vec<u8>,
    /// Of all connections.
    events: Arc<AtomicUsize>,
}

impl Transcript {
    fn take(&mut self, packet: &[u8]) {
        let before = self.event_ends().count();
        self.bytes.extend_from_slice(packet);
        self.events.fetch_add(self.event_ends().count() - before, Ordering::SeqCst);
    }

    /// Where each event ends. JSON holds no line ends of its own, so an empty line is nothing but that.
    fn event_ends(&self) -> impl Iterator<Item = usize> {
        self.bytes.windows(2).enumerate().filter(|(_, pair)| *pair == b"\n\n").map(|(at, _)| at + 2)
    }

    fn ended(&self, hung_up: Option<Instant>) -> Ended {
        let complete = self.bytes.windows(12).any(|bytes| bytes == b"data: [DONE]");
        Ended { events: self.event_ends().count(), complete, hung_up }
    }
}

/// Carries one connection to its end.
async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    mut seen: Transcript,
    cut: Option<Cut>,
) -> Ended {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let mut hung_up = None;
    let (mut asked, mut told) = ([0; PACKET_BYTES], [0; PACKET_BYTES]);
    let mut carried = 0;
    loop {
        tokio::select! {
            read = client.read(&mut asked), if hung_up.is_none() => match read {
                Ok(size @ 1..) => server.write_all(&asked[..size]).await.unwrap(),
                _ => {
                    hung_up = Some(Instant::now());
                    // The server sees that nobody will ask again, and the relay what it still writes.
                    let _ = server.shutdown().await;
                }
            },
            read = server.read(&mut told) => match read {
                Ok(size @ 1..) => {
                    seen.take(&told[..size]);
                    let end = cut.and_then(|cut| seen.event_ends().nth(cut.after_events - 1));
                    if hung_up.is_none() {
                        // A client that is gone is seen where it is read from.
                        let _ = client.write_all(&seen.bytes[carried..end.unwrap_or(seen.bytes.len())]).await;
                        carried = seen.bytes.len();
                    }
                    if let (Some(_), Some(Cut { how, .. })) = (end, cut) {
                        if matches!(how, How::Reset) {
                            client.set_zero_linger().unwrap();
                        }
                        return seen.ended(hung_up);
                    }
                }
                _ => return seen.ended(hung_up),
            },
        }
    }
}

fn authority() -> String {
    let base_url = base_url();
    let rest = base_url.split_once("://").map_or(base_url.as_str(), |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}
