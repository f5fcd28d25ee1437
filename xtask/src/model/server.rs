//! The model server's process: started detached, asked for its health, and ended.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::last_line;
use crate::process::signal;
use crate::stop::{During, Stop};

const SCRIPT: &str = include_str!("serve.py");
const STOP_SECONDS_MAX: u64 = 10;
const HEALTH_SECONDS_MAX: u64 = 5;
const POLL_MILLISECONDS: u64 = 100;
/// An answer about health is this long at most.
const HEALTH_BYTES_MAX: u64 = 64 * 1024;

/// How long a server lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Until it is ended, whatever becomes of who started it.
    OfItsOwn,
    /// Until it is ended, or the process that started it is gone.
    Leashed,
}

/// A server that has started and is well.
pub(super) struct Started {
    pub(super) base_url: String,
    /// Holds the leash, if there is one.
    pub(super) process: Child,
}

/// The server whose notes (`pid`, `port`, `server.log`) lie in one folder, running or not.
pub(super) struct Server {
    folder: PathBuf,
}

impl Server {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What to pass as a base URL, if the server runs and is well.
    pub(super) fn base_url(&self) -> Option<String> {
        self.running()?;
        let port = self.note("port")?.parse::<u16>().ok()?;
        is_healthy(port).then(|| format!("http://127.0.0.1:{port}/v1"))
    }

    /// Starts it and waits until it is well, for `limit` at most: the model file is put together, hashed and loaded.
    pub(super) fn start(&self, python: &Path, life: Life, limit: Duration) -> Result<Started, Stop> {
        let script = self.script();
        std::fs::write(&script, SCRIPT).during("writing the server's script")?;
        let log = File::create(self.log()).during("making the server's log")?;
        let mut command = Command::new(python);
        command.arg(&script).arg(&self.folder);
        match life {
            Life::OfItsOwn => command.stdin(Stdio::null()),
            Life::Leashed => command.arg("leashed").stdin(Stdio::piped()),
        };
        let mut process = command
            .stdout(log.try_clone().during("making the server's log")?)
            .stderr(log)
            .spawn()
            .during("starting the model server")?;
        std::fs::write(self.folder.join("pid"), format!("{}\n", process.id()))
            .during("noting the server's id")?;
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(base_url) = self.base_url() {
                return Ok(Started { base_url, process });
            }
            if let Some(status) = process.try_wait().during("waiting for the model server")? {
                return Err(Stop::Failed(format!(
                    "the model server ended with {status}; {}",
                    self.last_words()
                )));
            }
            std::thread::sleep(Duration::from_millis(POLL_MILLISECONDS));
        }
        self.stop()?;
        Err(Stop::Failed(format!(
            "the model server was not well after {} s; {}",
            limit.as_secs(),
            self.last_words()
        )))
    }

    /// Ends it if it runs; afterwards it does not.
    pub(super) fn stop(&self) -> Result<(), Stop> {
        for name in ["TERM", "KILL"] {
            let Some(pid) = self.running() else { break };
            signal(pid, name);
            let start = Instant::now();
            while self.running().is_some() && start.elapsed() < Duration::from_secs(STOP_SECONDS_MAX) {
                std::thread::sleep(Duration::from_millis(POLL_MILLISECONDS));
            }
        }
        if let Some(pid) = self.running() {
            return Err(Stop::Failed(format!("the model server {pid} does not end")));
        }
        for name in ["pid", "port"] {
            match std::fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Stop::Failed(format!("removing the note {name}: {error}")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The process id, if that process runs this folder's script. An id alone may by now be somebody else's.
    fn running(&self) -> Option<u32> {
        let pid = self.note("pid")?.parse::<u32>().ok()?;
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let script = self.script();
        command
            .split(|byte| *byte == 0)
            .any(|word| word == script.as_os_str().as_encoded_bytes())
            .then_some(pid)
    }

    fn note(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(name)).ok().map(|text| text.trim().to_owned())
    }

    fn script(&self) -> PathBuf {
        self.folder.join("serve.py")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    fn last_words(&self) -> String {
        let log = self.note("server.log").unwrap_or_default();
        let last = last_line(&log).unwrap_or("it wrote nothing");
        format!("{}: {last}", self.log().display())
    }
}

/// Asks `/health`; anything but a plain yes in time is a no.
fn is_healthy(port: u16) -> bool {
    health(port).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

fn health(port: u16) -> std::io::Result<String> {
    let limit = Duration::from_secs(HEALTH_SECONDS_MAX);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    write!(stream, "GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(HEALTH_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn answering(answer: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // The whole request is read: closing on unread bytes would reset the connection under the answer.
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
        });
        port
    }

    #[test]
    fn only_a_plain_yes_is_health() {
        assert!(is_healthy(answering("HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ok\"}")));
        assert!(!is_healthy(answering("HTTP/1.1 503 Service Unavailable\r\n\r\n")));
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert!(!is_healthy(closed));
    }

    #[test]
    fn an_id_of_another_process_is_not_taken_for_the_server() {
        let folder = std::env::temp_dir().join(format!("xtask-server-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("pid"), format!("{}\n", std::process::id())).unwrap();
        let server = Server::at(folder.clone());
        assert_eq!(server.running(), None);
        server.stop().unwrap();
        assert!(!folder.join("pid").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
