//! How long `loom ask` takes to start, read its command line, build its guards and connect, until the last byte of its
//! request has left.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::measure::{Bench, round};

/// Runs of which the median counts.
const RUNS: usize = 20;
const BODY_BYTES_MAX: u64 = 1 << 20;
/// A child that is silent for so long has failed.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"The Rhine.\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

pub(crate) fn bench() -> Bench {
    Bench::told("wire.ask", || {
        let program = beside(&std::env::current_exe().expect("the bench knows where it lies"));
        let mut times: Vec<Duration> = (0..RUNS)
            .map(|_| until_request(&program).expect("`loom ask` sends a request and ends well"))
            .collect();
        times.sort_unstable();
        let ms = |at: usize| times.get(at).map_or(f64::NAN, |time| round(time.as_secs_f64() * 1e3));
        json!({"ms": ms(RUNS / 2), "ms_best": ms(0), "ms_worst": ms(RUNS - 1)})
    })
}

/// `loom`, built in the same profile, where the bench itself lies.
fn beside(bench: &Path) -> PathBuf {
    bench.with_file_name(format!("loom{}", std::env::consts::EXE_SUFFIX))
}

/// Starts `loom ask` against a listener on loopback and takes the time until its request is whole.
fn until_request(program: &Path) -> io::Result<Duration> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let mut command = Command::new(program);
    command.args(["ask", "--base-url", &format!("http://{address}/v1"), "name a river"]);
    command.env_clear().env("LOOM_API_KEY", "bench").stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn()?;
    // Where the child ends without a request, the connection made here ends the wait for one.
    let ended = std::thread::spawn(move || {
        let status = child.wait();
        drop(TcpStream::connect(address));
        status
    });
    let (mut peer, _) = listener.accept()?;
    peer.set_read_timeout(Some(SILENCE_MAX))?;
    let request = read_request(&peer);
    let time = start.elapsed();
    if request.is_ok() {
        peer.write_all(ANSWER.as_bytes())?;
    }
    drop(peer);
    let status = ended.join().map_err(|_| io::Error::other("the wait for the child failed"))??;
    request?;
    if status.success() { Ok(time) } else { Err(io::Error::other(status.to_string())) }
}

/// Reads a request to the last byte of its body.
fn read_request(peer: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(peer);
    let mut body_bytes = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            body_bytes = value.trim().parse::<u64>().map_err(io::Error::other)?;
        }
    }
    if body_bytes == 0 || body_bytes > BODY_BYTES_MAX {
        return Err(io::Error::other("expected a request with a body of a stated length"));
    }
    let read = io::copy(&mut reader.take(body_bytes), &mut io::sink())?;
    if read == body_bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
